# npyext: builds the extension, runs the tests and the measurements. `make help` lists the targets.
#
# CC, CFLAGS, LDFLAGS, WERROR (-Werror), SQLITE3 (the shell) and PYTHON can be given on the command line:
#     make CC=clang WERROR=-Werror

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

CFLAGS  = -O2 -g
LDFLAGS =
WERROR ?=
SQLITE3 = sqlite3
# Debian's own Python: the one that its numpy and pytest packages belong to.
PYTHON  = /usr/bin/python3
export CC SQLITE3 PYTHON

comma    := ,
warnings  = -Wall -Wextra -Wconversion $(WERROR)
base      = -std=c11 -D_GNU_SOURCE -Isrc -Iext -fPIC -fvisibility=hidden $(warnings)
sanitizer = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
libraries = -lz -lminizip -lm

flags_release = $(CFLAGS)
flags_asan    = -O1 -g $(sanitizer)
flags_coverage = -O0 -g --coverage -fprofile-update=atomic

extension_release = npyext.so
extension_asan    = .build/asan/npyext.so
extension_coverage = .build/coverage/npyext.so

codec := $(sort $(wildcard src/*/*.c))
sql   := $(sort $(wildcard ext/*/*.c))
# Code of ext/ that knows no SQLite and is tested without it.
plain := $(sort $(wildcard ext/source/pattern*.c ext/source/paths.c))
units := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/test_*.c)))

.PHONY: all
all: npyext.so ## Build ./npyext.so (the default)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "%-18s %s\n", $$1, $$2 }' Makefile

# The rules of one flavour: objects with their dependencies, the extension, the unit test programs. The file
# `flags` changes when compiler or flags do, and with it everything made by them.
define flavour
.build/$(1)/flags: always
	@mkdir -p $$(@D)
	@echo '$$(CC) $$(base) $$(flags_$(1)) $$(LDFLAGS)' > $$@.new
	@if cmp -s $$@.new $$@; then rm $$@.new; else mv $$@.new $$@; fi

.build/$(1)/%.o: %.c .build/$(1)/flags
	@mkdir -p $$(@D)
	$$(CC) $$(base) $$(flags_$(1)) -MMD -MP -c -o $$@ $$<

$$(extension_$(1)): $$(codec:%.c=.build/$(1)/%.o) $$(sql:%.c=.build/$(1)/%.o)
	$$(CC) $$(flags_$(1)) -shared $$(LDFLAGS) -o $$@ $$^ $$(or $$(libraries_$(1)),$$(libraries))

.build/$(1)/libnpyx.a: $$(codec:%.c=.build/$(1)/%.o) $$(plain:%.c=.build/$(1)/%.o)
	@rm -f $$@
	ar rcs $$@ $$^

.build/$(1)/unit/%: .build/$(1)/tests/unit/%.o .build/$(1)/libnpyx.a
	@mkdir -p $$(@D)
	$$(CC) $$(flags_$(1)) $$(LDFLAGS) -o $$@ $$^ -lcmocka $$(libraries)

.PHONY: units-$(1)
units-$(1): $$(units:%=.build/$(1)/unit/%)

.PRECIOUS: .build/$(1)/%.o
-include $$(patsubst %.c,.build/$(1)/%.d,$$(codec) $$(sql) $$(units:%=tests/unit/%.c))
endef
$(eval $(call flavour,release))
$(eval $(call flavour,asan))
$(eval $(call flavour,coverage))

.PHONY: always
always:

# Packages are installed before make looks for compilers and headers, hence a second make; on every core, unless
# the first one was told how many.
again = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$$(nproc || echo 1))
# The suite prints `N passed, N failed` last; tests/conftest.py does that.
suite = $(PYTHON) -B -m pytest -c tests/pytest.ini

.PHONY: demo
demo: ## Install what is missing, build, and show the extension on a small folder of runs
	@sh tests/install-packages.sh demo
	@echo 'Building ./npyext.so'
	@$(again) -s npyext.so
	@sh tests/demo/run.sh

.PHONY: examples
examples: npyext.so ## Make the files that the examples of README and docs read, in .build/examples
	@rm -rf .build/examples
	@$(PYTHON) -B tests/make_files.py .build/examples
	@ln -s '$(CURDIR)/npyext.so' '$(CURDIR)/sql' .build/examples
	@echo 'cd .build/examples && sqlite3'

.PHONY: check
check: ## Install what is missing, build, and run every test
	@sh tests/install-packages.sh check
	@$(again) npyext.so units-release replayers-release
	@$(suite) tests

.PHONY: sqlite-versions
sqlite-versions: ## Build older and newer SQLite libraries, for `make check` to run on them too (needs npm)
	@sh tests/build-sqlite.sh

.PHONY: check-sqlite-versions
check-sqlite-versions: npyext.so sqlite-versions ## Build those, and run on them what goes through Python's sqlite3
	@$(suite) tests/test_sqlite_versions.py

.PHONY: check-unit
check-unit: units-release ## Unit tests of the codec, without SQLite
	@$(suite) tests/test_unit.py

.PHONY: check-sql
check-sql: npyext.so ## The functions in SQL: stored output of tests/sql and the documents, and through Python
	@$(suite) $(filter-out tests/test_unit.py tests/test_corpus.py tests/test_fuzz_corpus.py tests/test_numpy%,$(wildcard tests/test_*.py))

.PHONY: update-sql
update-sql: npyext.so ## Store the output of tests/sql as it is now; read the difference before you commit it
	@UPDATE=1 $(suite) tests/test_sql.py

.PHONY: check-numpy
check-numpy: npyext.so ## Differential tests against NumPy
	@$(suite) $(wildcard tests/test_numpy*.py)

.PHONY: check-corpus
check-corpus: npyext.so ## The corpus of good, malformed and real files (NPYEXT_CORPUS, or ../shared/corpus)
	@$(suite) tests/test_corpus.py

.PHONY: check-sanitized
check-sanitized: .build/asan/npyext.so units-asan replayers-asan ## Every test again, under AddressSanitizer and UBSan
	@NPYEXT_FLAVOUR=asan LD_PRELOAD=$$($(CC) -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
	    $(suite) tests

.PHONY: faults
faults: npyext.so ## Fail every single allocation and system call of tests/fault_cases.py (`make check` takes samples)
	@NPYEXT_FAULTS=all $(suite) tests/test_faults.py

.PHONY: check-big
check-big: npyext.so .build/release/unit/big_archive_write ## Files of 5 GB and archives beyond 4 GiB, written and read back: minutes, and 16 GB of room in TMPDIR; not in CI
	@$(suite) $(wildcard tests/big_*.py)
	@$(PYTHON) -B tests/big/big.py

# ---- fuzzing and coverage: tests/fuzz ----

CLANG   = clang
SECONDS = 30
fuzzers      := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
fuzz_shared  := tests/fuzz/fuzz.c tests/fuzz/read_archive.c
# What fuzz_sql answers itself: its statements see one folder.
fuzz_wrapped := open openat stat fstatat faccessat access readlink syscall
wraps         = $(fuzz_wrapped:%=-Wl$(comma)--wrap=%)
fuzz_sql_only = $(if $(filter sql,$(1)),$(2))
fuzz_flags    = -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
                -fno-omit-frame-pointer -DFUZZ_MUTATES

.build/fuzz/flags: always
	@mkdir -p $(@D)
	@echo '$(CLANG) $(base) $(fuzz_flags)' > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

.build/fuzz/%.o: %.c .build/fuzz/flags
	@mkdir -p $(@D)
	$(CLANG) $(base) $(fuzz_flags) -MMD -MP -c -o $@ $<

# $(1): a target; libFuzzer's own program.
define fuzzer
.build/fuzz/fuzz_$(1): $$(patsubst %.c,.build/fuzz/%.o,tests/fuzz/fuzz_$(1).c $$(fuzz_shared) \
    $$(if $$(filter header npz ten sql,$(1)),tests/fuzz/mutate.c) $$(codec) $$(call fuzz_sql_only,$(1),$$(sql)))
	$$(CLANG) -fsanitize=fuzzer,address,undefined $$(call fuzz_sql_only,$(1),$$(wraps)) -o $$@ $$^ \
	    $$(libraries) $$(call fuzz_sql_only,$(1),-lsqlite3)
endef
$(foreach target,$(fuzzers),$(eval $(call fuzzer,$(target))))
-include $(patsubst %.c,.build/fuzz/%.d,$(wildcard tests/fuzz/*.c) $(codec) $(sql))

# $(1): a flavour, $(2): a target; the same without libFuzzer, which replays files.
define replayer
.build/$(1)/fuzz/replay_$(2): $$(patsubst %.c,.build/$(1)/%.o,tests/fuzz/fuzz_$(2).c $$(fuzz_shared) \
    tests/fuzz/replay.c $$(codec) $$(call fuzz_sql_only,$(2),$$(sql)))
	@mkdir -p $$(@D)
	$$(CC) $$(flags_$(1)) $$(LDFLAGS) $$(call fuzz_sql_only,$(2),$$(wraps)) -o $$@ $$^ \
	    $$(libraries) $$(call fuzz_sql_only,$(2),-lsqlite3)
endef
define replayers
$(foreach target,$(fuzzers),$(eval $(call replayer,$(1),$(target))))
.PHONY: replayers-$(1)
replayers-$(1): $(fuzzers:%=.build/$(1)/fuzz/replay_%)
-include $(patsubst %.c,.build/$(1)/%.d,$(wildcard tests/fuzz/*.c))
endef
$(eval $(call replayers,release))
$(eval $(call replayers,asan))
$(eval $(call replayers,coverage))

.PHONY: fuzzers
fuzzers: $(fuzzers:%=.build/fuzz/fuzz_%)

.PHONY: fuzz
fuzz: ## Fuzz every target of tests/fuzz for SECONDS=30 each, from fresh seeds; findings stay in .build/fuzz
	@sh tests/install-packages.sh fuzz
	@$(again) -s fuzzers
	@$(PYTHON) -B tests/fuzz/run.py $(SECONDS) $(TARGETS)

.PHONY: coverage
coverage: ## Lines of src/ that the tests and the fuzz corpus reach, file by file, with those that they do not
	@sh tests/install-packages.sh check
	@$(again) -s CC=gcc .build/coverage/npyext.so units-coverage replayers-coverage
	@find .build/coverage -name '*.gcda' -delete
	@export NPYEXT_FLAVOUR=coverage NPYEXT_SO=$(CURDIR)/.build/coverage/npyext.so; \
	$(suite) tests --ignore=tests/test_sqlite_versions.py || failed=1; \
	NPYEXT_MMAP=1 $(suite) tests/test_reads.py tests/test_sources.py || failed=1; \
	[ -z "$$failed" ] || echo 'Some tests failed, as slow builds make them; what follows counts all the same.'
	@$(PYTHON) -B tests/coverage.py

# ---- other hosts, threads, valgrind, soak ----

# What tests/foreign.sh builds with cross compilers, whose CC, CFLAGS and LDFLAGS it gives.
flags_s390x     = $(CFLAGS)
flags_i386      = $(CFLAGS) -msse2 -mfpmath=sse -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64
extension_s390x = .build/s390x/npyext.so
extension_i386  = .build/i386/npyext.so
$(eval $(call flavour,s390x))
$(eval $(call flavour,i386))

# ThreadSanitizer sees what SQLite does, too, when that is built with it (tests/build-sqlite.sh, which needs npm).
flags_tsan     = -O1 -g -fsanitize=thread -fno-omit-frame-pointer
extension_tsan = .build/tsan/npyext.so
sqlite_release = -lsqlite3
sqlite_asan    = -lsqlite3
sqlite_coverage = -lsqlite3
sqlite_tsan    = $(if $(wildcard .build/tsan/sqlite/libsqlite3.so.0),.build/tsan/sqlite/libsqlite3.so.0 -Wl$(comma)-rpath$(comma)$(CURDIR)/.build/tsan/sqlite,-lsqlite3)
$(eval $(call flavour,tsan))

# Programs of tests/host that use SQLite as a host does.
drivers := $(patsubst tests/host/%.c,%,$(sort $(wildcard tests/host/*.c)))
define driven
.build/$(1)/host/%: .build/$(1)/tests/host/%.o
	@mkdir -p $$(@D)
	$$(CC) $$(flags_$(1)) $$(LDFLAGS) -o $$@ $$^ $$(sqlite_$(1)) -lpthread -ldl

units-$(1): $$(drivers:%=.build/$(1)/host/%)
-include $$(drivers:%=.build/$(1)/tests/host/%.d)
endef
$(eval $(call driven,release))
$(eval $(call driven,asan))
$(eval $(call driven,tsan))
$(eval $(call driven,coverage))

.PHONY: check-threads
check-threads: ## Many threads, under ThreadSanitizer (and SQLite with it, where npm can fetch it)
	@sh tests/install-packages.sh check
	@! command -v npm >/dev/null || sh tests/build-sqlite.sh latest .build/tsan/sqlite -fsanitize=thread
	@$(again) .build/tsan/npyext.so units-tsan
	@NPYEXT_FLAVOUR=tsan $(suite) tests/test_threads.py

.PHONY: check-foreign
check-foreign: ## Unit tests and SQL on a big-endian and on a 32-bit host, emulated (s390x, i386; Debian only)
	@sh tests/foreign.sh s390x i386

.PHONY: check-valgrind
check-valgrind: ## Unit tests and SQL under valgrind's memcheck
	@sh tests/install-packages.sh check valgrind
	@$(again) -s npyext.so units-release
	@$(PYTHON) -B tests/valgrind.py

.PHONY: differential
differential: npyext.so ## Random queries, as npyext answers them and as ordinary tables do, for SECONDS=30 or QUERIES= many
	@$(PYTHON) -B tests/differential.py $(if $(QUERIES),--queries $(QUERIES),$(SECONDS))

.PHONY: soak
soak: npyext.so ## Random statements for SECONDS=30 in one process, which must not grow
	@$(PYTHON) -B tests/soak.py $(SECONDS)

.PHONY: two-writers
two-writers: npyext.so ## Writers of the same paths for SECONDS=30, with random delays between their system calls
	@$(PYTHON) -B tests/two_writers.py $(SECONDS)

# ---- what is handed on: an installation, one C file, a self-contained extension, a Python package ----

PREFIX     = /usr/local
LIBDIR     = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
version   := $(shell sed -n 's/^.define NPYEXT_VERSION "\(.*\)"/\1/p' ext/core/version.h)

# The extension lies in LIBDIR itself, as Debian's mod_spatialite and libsqlite3_mod_* do: dlopen looks into the
# system's library folders, so that `.load npyext` works by its bare name when LIBDIR is one of these
# (LIBDIR=/usr/lib/x86_64-linux-gnu). From elsewhere it is loaded by its path, which
# `pkg-config --variable=extension npyx` tells.
installed = npyext.so libnpyx.a pkgconfig/npyx.pc

.build/install/libnpyx.a: $(codec:%.c=.build/release/%.o)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

.PHONY: install
install: npyext.so .build/install/libnpyx.a ## Install extension, codec and SQL (PREFIX, LIBDIR, INCLUDEDIR, DESTDIR)
	install -d $(addprefix '$(DESTDIR),$(LIBDIR)/pkgconfig' $(INCLUDEDIR)/npyx' $(PREFIX)/share/npyext/sql')
	install -m 644 npyext.so .build/install/libnpyx.a '$(DESTDIR)$(LIBDIR)'
	for header in $$($(CC) -MM -Isrc src/npyx.h | tr -d '\\' | sed 's/^[^:]*://'); do \
	    install -D -m 644 "$$header" '$(DESTDIR)$(INCLUDEDIR)/npyx/'"$${header#src/}" || exit 1; \
	done
	install -m 644 sql/*.sql '$(DESTDIR)$(PREFIX)/share/npyext/sql'
	sed -i "s|load_extension('./npyext')|load_extension('$(LIBDIR)/npyext')|" '$(DESTDIR)$(PREFIX)/share/npyext/sql'/*.sql
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(version)|' \
	    src/npyx.pc.in > '$(DESTDIR)$(LIBDIR)/pkgconfig/npyx.pc'

.PHONY: uninstall
uninstall: ## Remove what install has put there, given the same variables
	rm -f $(patsubst %,'$(DESTDIR)$(LIBDIR)/%',$(installed))
	rm -rf '$(DESTDIR)$(INCLUDEDIR)/npyx' '$(DESTDIR)$(PREFIX)/share/npyext'

.PHONY: amalgamation
amalgamation: .build/amalgamation/npyext.c ## Make .build/amalgamation/npyext.c and npyext.h, all of it in one C file

.build/amalgamation/npyext.c: ext/tools/amalgamate.py $(wildcard src/*.h src/*/*.[ch] ext/*/*.[ch]) LICENSE
	$(PYTHON) -B ext/tools/amalgamate.py $(@D)

# minizip and zlib are linked in, their names hidden, and nothing is asked of a glibc newer than 2.17, whose
# threads and dlopen are libraries of their own.
threads_2_17         = $(wildcard /lib/x86_64-linux-gnu/libpthread.so.0 /lib/x86_64-linux-gnu/libdl.so.2)
flags_standalone     = $(CFLAGS) -include ext/tools/standalone.h -ffile-prefix-map='$(CURDIR)'=.
libraries_standalone = -s -Wl,-Bstatic -lminizip -lz -Wl,-Bdynamic -Wl,--exclude-libs,ALL -Wl,-z,defs \
    $(if $(threads_2_17),-Wl$(comma)--no-as-needed $(threads_2_17) -Wl$(comma)--as-needed,-lpthread -ldl) -lm
extension_standalone = .build/standalone/npyext.so
$(eval $(call flavour,standalone))

.PHONY: npyext-standalone
npyext-standalone: .build/standalone/npyext.so ## Make .build/standalone/npyext.so, which needs libc alone
	@ldd $<
	@echo "glibc $$(objdump -T $< | grep -o 'GLIBC_[0-9.]*' | sort -u -V | tail -n 1 | cut -c 7-) or newer"

.PHONY: wheel
wheel: .build/standalone/npyext.so ## Make the Python package, .build/dist/npyext-VERSION-py3-none-PLATFORM.whl
	@rm -f .build/dist/npyext-*.whl
	@cd ext/python && $(PYTHON) -B backend.py ../../.build/dist

.PHONY: check-clients
check-clients: ## Try the ways of docs/install.md that need PyPI and npm: apsw, sqlite-utils, Datasette, Node
	@sh tests/install-packages.sh check clients
	@$(again) npyext.so wheel
	@$(suite) $(wildcard tests/clients_*.py)

.PHONY: check-install
check-install: ## Follow docs/install.md from nothing, each section in a fresh Debian (root and debootstrap; some minutes; not in CI)
	@sh tests/install-packages.sh check root
	@$(suite) $(wildcard tests/roots_*.py)

.PHONY: check-newest
check-newest: ## Build and show it with Debian's newest compiler and C library, in a root of their own (root, debootstrap)
	@sh tests/install-packages.sh check root
	@NPYEXT_ROOTS=possible $(suite) tests/roots_releases.py -k sid

.PHONY: bench
bench: npyext.so ## Measure the speed contract side by side with its peers; writes tests/bench/RESULTS.md
	@$(PYTHON) -B tests/bench/bench.py

.PHONY: lint
lint: npyext.so ## clang-format, clang-tidy, exported symbols, and who includes what
	@sh tests/lint.sh

.PHONY: graph
graph: ## Draw who includes what, folder by folder, as .build/graph.svg (graphviz)
	@sh tests/install-packages.sh graph
	@mkdir -p .build
	@$(PYTHON) -B tests/floors.py graph > .build/graph.dot
	dot -Tsvg -o .build/graph.svg .build/graph.dot

.PHONY: format
format: ## Lay the C files out as .clang-format says
	clang-format -i $(wildcard src/*.h src/*/*.[ch] ext/*/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch] tests/host/*.[ch])

.PHONY: deps
deps: ## Install what any of these targets needs
	@sh tests/install-packages.sh demo check lint

.PHONY: clean
clean: ## Remove what was built, the data of `make bench` too
	rm -rf .build npyext.so
