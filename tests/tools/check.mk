# The suite, and parts of it.

# The suite prints `N passed, N failed` last; tests/conftest.py does that. What Python and pytest make of each test file is kept
# below .build: six seconds of every process otherwise.
suite = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX='$(CURDIR)/.build/pycache' $(PYTHON) -m pytest -c tests/pytest.ini
# As many processes as there are cores, or NPYEXT_WORKERS; one, where pytest-xdist is not installed.
workers = $$($(PYTHON) -B tests/lib/workers.py)
# What is handed on is built whole five times there; `make check-packaging` does that, and CI.
not_builds = --ignore=tests/packaging

# `make check` is to end within five minutes on two cores: what repeats with other numbers, or in the build of variable sizes, is
# asked here (SAMPLES in lib/shell.py).
.PHONY: check-whole
check-whole: ## As check, but all of what takes longest, where that asks samples; CI runs this
	@sh ext/tools/install-packages.sh check
	@$(again) npyext.so units-release replayers-release .build/small/npyext.so
	@NPYEXT_WHOLE=1 $(suite) $(workers) $(not_builds) tests

.PHONY: check-unit
check-unit: ## Unit tests of the codec, without SQLite
	@$(call ready,check,units-release)
	@$(suite) tests/unit

.PHONY: check-sql
check-sql: ## The functions in SQL: stored output of tests/sql and the documents, and through Python
	@$(call ready,check,npyext.so)
	@$(suite) $(workers) $(addprefix --ignore=tests/,packaging unit fuzz reading/test_corpus.py numpy/test_numpy_rows.py numpy/test_numpy_slices.py) tests

.PHONY: update-sql
update-sql: ## Store the output of tests/sql as it is now; read the difference before you commit it
	@$(call ready,check,npyext.so)
	@UPDATE=1 $(suite) tests/sql/test_sql.py

.PHONY: check-numpy
check-numpy: ## Differential tests against NumPy
	@$(call ready,check,npyext.so)
	@$(suite) $(workers) tests/numpy

.PHONY: check-corpus
check-corpus: ## The corpus of good, malformed and real files (NPYEXT_CORPUS, or ../shared/corpus)
	@$(call ready,check,npyext.so)
	@$(suite) $(workers) tests/reading/test_corpus.py

# Killed programs have nothing to tell a sanitizer; calls that fail are in test_faults.py, too. SQLite's steps are the release's
# (test_no_query_is_quadratic), and its queries are asked in test_sql.py as well. tests/fuzz says what is left to the fuzzers.
.PHONY: check-sanitized
check-sanitized: ## Nearly every test again, under AddressSanitizer and UBSan
	@$(call ready,check,.build/asan/npyext.so units-asan replayers-asan)
	@NPYEXT_FLAVOUR=asan LD_PRELOAD=$$($(CC) -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
	    $(suite) $(workers) $(not_builds) --ignore=tests/safety/test_crashes.py tests \
	    --deselect=sql/test_library.py::test_no_query_is_quadratic

# A map only changes how the bytes of a file that is read come in. Left out is what reads no files of its own, takes both ways
# itself (test_same.py, test_soak.py) or none (the replayers: fuzz_sql.c unsets the variable); what is about plans, whatever is
# read (test_comparisons.py, test_constants.py); what computes with arrays that are there (makers, aggregates, random
# expressions; sketches of BLOBs), or counts SQLite's steps, which no map changes; what takes long and reads URLs alone, which are no
# files; and what writes, since nothing that is written is mapped: the model and the rows that change read their files back.
# Unit tests know no map; few rounds of them are for clang, which has built them in CI.
not_mapped := docs fuzz hosts
not_mapped += $(addprefix safety/test_,$(addsuffix .py,crashes lost_files policy soak derived small_stack degenerate degenerate_corpus interrupted_array_of_texts interrupted_many_queries))
not_mapped += $(addprefix queries/test_,$(addsuffix .py,comparisons constants))
not_mapped += $(addprefix numpy/test_,$(addsuffix .py,same aggregates makers statistic_functions pictures))
not_mapped += $(addprefix writing/test_,$(addsuffix .py,npy_write writers_rules writing_tables writing_defects shards_written tunables_written descr_defects))

.PHONY: check-mapped
check-mapped: ## The tests of what reads files again, with the files mapped (NPYEXT_MMAP=1)
	@$(call ready,check,npyext.so units-release)
	@NPYEXT_MMAP=1 NPYEXT_UNIT_ROUNDS=few $(suite) $(workers) $(not_builds) tests $(addprefix --ignore=tests/,$(not_mapped)) \
	    --deselect=safety/test_faults.py::test_no_memory --deselect=numpy/test_calc.py::test_random_expressions \
	    --deselect=writing/test_model.py::test_files_hold_what_the_model_says_at_the_least_sizes \
	    --deselect=sql/test_library.py::test_no_query_is_quadratic \
	    $(addprefix --deselect=numpy/test_sketch.py::test_,one_array_is_off_by_a_run_at_most merged_ones_are_within_the_bound) \
	    $(addprefix --deselect=reading/test_remote.py::test_,what_is_kept_is_bounded a_search_for_nan_reads_each_byte_once first_bytes_of_large_files_are_not_asked_for_too_early)

.PHONY: differential
differential: ## Random queries, as npyext answers them and as ordinary tables do, for SECONDS=30 or QUERIES= many
	@$(call ready,check,npyext.so)
	@$(PYTHON) -B tests/queries/differential.py $(if $(QUERIES),--queries $(QUERIES),$(SECONDS))

.PHONY: same
same: ## Random questions about random arrays, asked with other threads and sizes and of NumPy, for SECONDS=30 or QUESTIONS= many
	@$(call ready,check,npyext.so .build/small/npyext.so)
	@$(PYTHON) -B tests/numpy/same.py $(if $(QUESTIONS),--questions $(QUESTIONS),$(SECONDS))

.PHONY: calc
calc: ## Random expressions of npy_calc, held against NumPy and asked with other sizes and threads, for SECONDS=30 or QUESTIONS= many
	@$(call ready,check,npyext.so .build/small/npyext.so)
	@$(PYTHON) -B tests/numpy/calc_random.py $(if $(QUESTIONS),--questions $(QUESTIONS),$(SECONDS))

.PHONY: faults
faults: ## Fail every single allocation and system call of fault_cases.py (other targets take samples)
	@$(call ready,check,npyext.so)
	@NPYEXT_FAULTS=all $(suite) $(workers) tests/safety/test_faults.py

.PHONY: soak
soak: ## Random statements for SECONDS=30 in one process, which must not grow
	@$(call ready,check,npyext.so)
	@$(PYTHON) -B tests/safety/soak.py $(SECONDS)

.PHONY: two-writers
two-writers: ## Writers of the same paths for SECONDS=30, with random delays between their system calls
	@$(call ready,check,npyext.so)
	@$(PYTHON) -B tests/safety/two_writers.py $(SECONDS)

.PHONY: writing-model
writing-model: npyext.so ## Random sequences of statements that write, for SECONDS=30, held against a model of what the files hold
	@$(PYTHON) -B tests/writing/model.py $(SECONDS)

.PHONY: writers-mix
writers-mix: npyext.so ## As two-writers, with files that are not replaced, in all modes, and writers that are stopped
	@$(PYTHON) -B tests/safety/two_writers.py $(SECONDS) --mix

.PHONY: check-big
check-big: ## Files of 5 GB and archives beyond 4 GiB, written and read back: minutes, and 16 GB of room in TMPDIR; not in CI
	@$(call ready,check,npyext.so .build/release/unit/big_archive_write)
	@$(suite) tests/big/big_archives.py
	@$(PYTHON) -B tests/big/big.py

.PHONY: coverage
coverage: ## Lines, branches and conditions (MC/DC) of src/ and ext/ that the tests and the fuzz corpus reach, by folder (clang 19)
	@sh ext/tools/install-packages.sh check coverage
	@$(again) -s CC=clang-19 .build/coverage/npyext.so units-coverage replayers-coverage
	@rm -rf .build/coverage/profiles
	@export NPYEXT_FLAVOUR=coverage NPYEXT_SO=$(CURDIR)/.build/coverage/npyext.so; \
	$(suite) $(workers) $(not_builds) tests --ignore=tests/hosts/test_sqlite_versions.py || failed=1; \
	NPYEXT_MMAP=1 $(suite) tests/reading/test_reads.py tests/reading/test_sources.py || failed=1; \
	[ -z "$$failed" ] || echo 'Some tests failed, as slow builds make them; what follows counts all the same.'
	@$(PYTHON) -B tests/tools/coverage.py

# Left out is what counts bytes, calls or memory, which these sizes decide, and what reads no arrays.
.PHONY: check-small
check-small: ## The tests that read or write arrays, with every size at which the code takes another path at its least
	@$(call ready,check,.build/small/npyext.so units-small)
	@NPYEXT_FLAVOUR=small NPYEXT_TUNE=least NPYEXT_THREADS=3 NPYEXT_UNITS='$(units_small)' $(suite) $(workers) $(addprefix tests/,numpy reading queries writing sql unit)
