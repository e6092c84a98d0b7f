# Faults that are put into the sources: which of them the tests notice.

.PHONY: mutants
mutants: ## Change COUNT=100 random places of src/array, src/format and src/text, one at a time: does a test notice? (clang 19; minutes, not in CI)
	@sh ext/tools/install-packages.sh check coverage
	@$(PYTHON) -B tests/mutants/mutants.py $(or $(COUNT),100)

.PHONY: planted
planted: ## Plant ten faults of parsers: which of fuzzing, tests and model checking find them, and when (an hour or more, not in CI)
	@sh ext/tools/install-packages.sh check fuzz
	@$(PYTHON) -B tests/mutants/planted.py
