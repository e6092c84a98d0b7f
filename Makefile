# npyext: builds the extension, shows it, checks it, installs it. `make help` lists the targets; targets for work on
# npyext itself are in tests/*/*.mk.
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

PREFIX     = /usr/local
LIBDIR     = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include

.PHONY: all
all: npyext.so ## Build ./npyext.so (the default)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "%-22s %s\n", $$1, $$2 }' $(filter %Makefile %.mk,$(MAKEFILE_LIST))

.PHONY: demo
demo: ## Install what is missing, build, and show the extension on a small folder of runs
	@sh ext/tools/install-packages.sh demo
	@echo 'Building ./npyext.so'
	@$(again) -s npyext.so
	@sh tests/demo/run.sh

.PHONY: examples
examples: ## Make the files that the examples of README and docs read, in .build/examples
	@$(call ready,demo python,npyext.so)
	@rm -rf .build/examples
	@$(PYTHON) -B tests/lib/make_files.py .build/examples
	@ln -s '$(CURDIR)/npyext.so' '$(CURDIR)/sql' .build/examples
	@echo 'cd .build/examples && sqlite3'

.PHONY: check
check: ## Install what is missing, build, and run the tests, samples of the longest, on every core (NPYEXT_WORKERS=1: one after the other)
	@sh ext/tools/install-packages.sh check
	@$(again) npyext.so units-release replayers-release
	@$(suite) $(workers) $(not_builds) tests

# The extension lies in LIBDIR itself, as Debian's mod_spatialite and libsqlite3_mod_* do: dlopen looks into the
# system's library folders, so that `.load npyext` works by its bare name when LIBDIR is one of these
# (LIBDIR=/usr/lib/x86_64-linux-gnu). From elsewhere it is loaded by its path, which
# `pkg-config --variable=extension npyx` tells.
.PHONY: install
install: npyext.so .build/install/libnpyx.a ## Install extension, codec and SQL (PREFIX, LIBDIR, INCLUDEDIR, DESTDIR)
	install -d $(addprefix '$(DESTDIR),$(LIBDIR)/pkgconfig' $(INCLUDEDIR)/npyx' $(PREFIX)/share/npyext/sql')
	install -m 644 npyext.so .build/install/libnpyx.a '$(DESTDIR)$(LIBDIR)'
	install -m 644 src/npyx.h '$(DESTDIR)$(INCLUDEDIR)/npyx'
	install -m 644 sql/*.sql '$(DESTDIR)$(PREFIX)/share/npyext/sql'
	sed -i "s|load_extension('./npyext')|load_extension('$(LIBDIR)/npyext')|" '$(DESTDIR)$(PREFIX)/share/npyext/sql'/*.sql
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(version)|' \
	    src/npyx.pc.in > '$(DESTDIR)$(LIBDIR)/pkgconfig/npyx.pc'

.PHONY: uninstall
uninstall: ## Remove what install has put there, given the same variables
	rm -f $(patsubst %,'$(DESTDIR)$(LIBDIR)/%',npyext.so libnpyx.a pkgconfig/npyx.pc)
	rm -rf '$(DESTDIR)$(INCLUDEDIR)/npyx' '$(DESTDIR)$(PREFIX)/share/npyext'

.PHONY: amalgamation
amalgamation: ## Make .build/amalgamation/npyext.c and npyext.h, all of it in one C file
	@sh ext/tools/install-packages.sh python
	@$(again) .build/amalgamation/npyext.c

.PHONY: npyext-standalone
npyext-standalone: .build/standalone/npyext.so ## Make .build/standalone/npyext.so, which needs libc alone
	@ldd $<
	@echo "glibc $$(objdump -T $< | grep -o 'GLIBC_[0-9.]*' | sort -u -V | tail -n 1 | cut -c 7-) or newer"

.PHONY: wheel
wheel: ## Make the Python package, .build/dist/npyext-VERSION-py3-none-PLATFORM.whl
	@sh ext/tools/install-packages.sh build python
	@$(again) .build/standalone/npyext.so
	@rm -f .build/dist/npyext-*.whl
	@cd ext/python && $(PYTHON) -B backend.py ../../.build/dist

.PHONY: wheels
wheels: ## Make the Python packages of all platforms in .build/wheels: Linux (glibc, musl), macOS, Windows (PyPI, Debian's sources)
	@sh ext/tools/install-packages.sh demo cross
	@rm -rf .build/wheels
	@cd ext/python && $(PYTHON) -B backend.py ../../.build/wheels all

.PHONY: npm
npm: ## Make the npm packages of all platforms in .build/npm
	@sh ext/tools/install-packages.sh demo cross
	@rm -rf .build/npm
	@$(PYTHON) -B ext/node/pack.py .build/npm

.PHONY: debian
debian: ## Make Debian's source package in .build/debian, and the folder where dpkg-buildpackage makes packages of it
	@sh ext/tools/install-packages.sh debian
	@rm -rf .build/debian
	@$(PYTHON) -B ext/tools/debian_source.py .build/debian

.PHONY: web
web: ## Make the pages for browsers, .build/web: static files that answer SQL from files dropped on them, or at URLs (npm, PyPI, Debian's sources)
	@sh ext/tools/install-packages.sh demo cross web
	@$(PYTHON) -B ext/web/build.py .build/web

.PHONY: clean
clean: ## Remove what was built, the data of `make bench` too
	rm -rf .build npyext.so

include ext/tools/build.mk tests/tools/flavours.mk tests/tools/check.mk tests/fuzz/fuzz.mk tests/prove/prove.mk tests/mutants/mutants.mk tests/hosts/hosts.mk tests/packaging/packaging.mk tests/tools/tools.mk
