# npyext: builds the extension, runs the tests and the measurements. `make help` lists the targets.
#
# CC, CFLAGS, LDFLAGS, WERROR (-Werror), SQLITE3 (the shell) and PYTHON can be given on the command line:
#     make CC=clang WERROR=-Werror

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

CFLAGS  = -O2 -g
LDFLAGS =
WERROR  =
SQLITE3 = sqlite3
# Debian's own Python: the one that its numpy and pytest packages belong to.
PYTHON  = /usr/bin/python3
export CC SQLITE3 PYTHON

warnings  = -Wall -Wextra -Wconversion $(WERROR)
base      = -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden $(warnings)
sanitizer = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
libraries = -lz -lminizip -lm

flags_release = $(CFLAGS)
flags_asan    = -O1 -g $(sanitizer)

extension_release = npyext.so
extension_asan    = .build/asan/npyext.so

codec := $(sort $(wildcard src/*.c))
sql   := $(sort $(wildcard ext/*.c))
# Code of ext/ that knows no SQLite and is tested without it.
plain := $(sort $(wildcard ext/pattern*.c ext/paths.c))
units := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/test_*.c)))

.PHONY: all
all: npyext.so ## Build ./npyext.so (the default)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "%-16s %s\n", $$1, $$2 }' Makefile

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

.PHONY: check
check: ## Install what is missing, build, and run every test
	@sh tests/install-packages.sh check
	@$(again) npyext.so units-release
	@$(suite) tests

.PHONY: sqlite-versions
sqlite-versions: ## Build older and newer SQLite libraries, for `make check` to run on them too (needs npm)
	@sh tests/build-sqlite.sh

.PHONY: check-unit
check-unit: units-release ## Unit tests of the codec, without SQLite
	@$(suite) tests/test_unit.py

.PHONY: check-sql
check-sql: npyext.so ## The functions in SQL: stored output of tests/sql and the documents, and through Python
	@$(suite) $(filter-out tests/test_unit.py tests/test_corpus.py tests/test_numpy%,$(wildcard tests/test_*.py))

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
check-sanitized: .build/asan/npyext.so units-asan ## Every test again, under AddressSanitizer and UBSan
	@NPYEXT_FLAVOUR=asan LD_PRELOAD=$$($(CC) -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
	    $(suite) tests

.PHONY: check-big
check-big: npyext.so .build/release/unit/big_archive_write ## Archives beyond 4 GiB: minutes, and 10 GB of room in TMPDIR
	@$(suite) $(wildcard tests/big_*.py)

# ---- what is handed on: an installation, one C file, a self-contained extension, a Python package ----

PREFIX     = /usr/local
LIBDIR     = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
version   := $(shell sed -n 's/^.define NPYEXT_VERSION "\(.*\)"/\1/p' ext/version.h)

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
	install -m 644 $$($(CC) -MM src/npyx.h | tr -d '\\' | sed 's/^[^:]*://') '$(DESTDIR)$(INCLUDEDIR)/npyx'
	install -m 644 sql/*.sql '$(DESTDIR)$(PREFIX)/share/npyext/sql'
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(version)|' \
	    src/npyx.pc.in > '$(DESTDIR)$(LIBDIR)/pkgconfig/npyx.pc'

.PHONY: uninstall
uninstall: ## Remove what install has put there, given the same variables
	rm -f $(patsubst %,'$(DESTDIR)$(LIBDIR)/%',$(installed))
	rm -rf '$(DESTDIR)$(INCLUDEDIR)/npyx' '$(DESTDIR)$(PREFIX)/share/npyext'

.PHONY: amalgamation
amalgamation: .build/amalgamation/npyext.c ## Make .build/amalgamation/npyext.c and npyext.h, all of it in one C file

.build/amalgamation/npyext.c: ext/amalgamate.py ext/c_text.py $(wildcard src/*.[ch] ext/*.[ch]) LICENSE
	$(PYTHON) -B ext/amalgamate.py $(@D)

# minizip and zlib are linked in, their names hidden, and nothing is asked of a glibc newer than 2.17, whose
# threads are a library of their own.
threads_2_17         = $(wildcard /lib/x86_64-linux-gnu/libpthread.so.0)
flags_standalone     = $(CFLAGS) -include ext/standalone.h -ffile-prefix-map='$(CURDIR)'=.
libraries_standalone = -s -Wl,-Bstatic -lminizip -lz -Wl,-Bdynamic -Wl,--exclude-libs,ALL -Wl,-z,defs \
    $(if $(threads_2_17),-Wl$(comma)--no-as-needed $(threads_2_17) -Wl$(comma)--as-needed,-lpthread) -lm
extension_standalone = .build/standalone/npyext.so
comma               := ,
$(eval $(call flavour,standalone))

.PHONY: npyext-standalone
npyext-standalone: .build/standalone/npyext.so ## Make .build/standalone/npyext.so, which needs libc alone
	@ldd $<
	@echo "glibc $$(objdump -T $< | grep -o 'GLIBC_[0-9.]*' | sort -u -V | tail -n 1 | cut -c 7-) or newer"

.PHONY: wheel
wheel: .build/standalone/npyext.so ## Make the Python package, .build/dist/npyext-VERSION-py3-none-PLATFORM.whl
	@cd ext/python && $(PYTHON) -B backend.py ../../.build/dist

.PHONY: check-clients
check-clients: ## Try the ways of docs/install.md that need PyPI and npm: apsw, sqlite-utils, Datasette, Node
	@sh tests/install-packages.sh check clients
	@$(again) npyext.so wheel
	@$(suite) $(wildcard tests/clients_*.py)

.PHONY: bench
bench: npyext.so ## Measure the speed contract side by side with its peers; writes tests/bench/RESULTS.md
	@$(PYTHON) -B tests/bench/bench.py

.PHONY: lint
lint: npyext.so ## clang-format, clang-tidy, exported symbols, and who includes what
	@sh tests/lint.sh

.PHONY: format
format: ## Lay the C files out as .clang-format says
	clang-format -i $(wildcard src/*.[ch] ext/*.[ch] tests/unit/*.[ch])

.PHONY: deps
deps: ## Install what any of these targets needs
	@sh tests/install-packages.sh demo check lint

.PHONY: clean
clean: ## Remove what was built, the data of `make bench` too
	rm -rf .build npyext.so
