# Measurements, static checks, pictures.

.PHONY: bench
bench: ## Measure the speed contract beside its peers into tests/bench/RESULTS.md, or only ROWS="4 5w"
	@$(call ready,bench,npyext.so)
	@$(PYTHON) -B tests/bench/bench.py $(ROWS)

.PHONY: bench-turns
bench-turns: ## Our side of those rows beside another build, in turn: make bench-turns BEFORE=path/to/npyext.so
	@$(call ready,bench,npyext.so)
	@$(PYTHON) -B tests/bench/turns.py $(BEFORE) $(ROWS)

.PHONY: bench-others
bench-others: ## A few questions beside pandas, Polars, DuckDB, ClickHouse, faiss and others (PyPI)
	@$(call ready,bench,npyext.so)
	@$(PYTHON) -m venv .build/bench/others
	@.build/bench/others/bin/pip install -q numpy pandas polars duckdb chdb faiss-cpu usearch webdataset picklescan
	@.build/bench/others/bin/python -B tests/bench/others.py

.PHONY: lint
lint: ## clang-format, clang-tidy, exported symbols, and which file includes what
	@$(call ready,lint,npyext.so)
	@sh tests/tools/lint.sh

.PHONY: graph
graph: ## Draw which file includes what, folder by folder, as .build/graph.svg (graphviz)
	@sh ext/tools/install-packages.sh graph
	@mkdir -p .build
	@$(PYTHON) -B tests/tools/floors.py graph > .build/graph.dot
	dot -Tsvg -o .build/graph.svg .build/graph.dot

.PHONY: format
format: ## Lay the C files out as .clang-format says
	@sh ext/tools/install-packages.sh format
	clang-format -i $(wildcard src/*.h src/*/*.[ch] ext/*/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch] tests/prove/*.[ch] tests/hosts/*.[ch] tests/safety/*.[ch])

.PHONY: deps
deps: ## Install what any of these targets needs
	@sh ext/tools/install-packages.sh demo check bench debian lint fuzz graph valgrind
