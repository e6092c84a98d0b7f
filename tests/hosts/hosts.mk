# Other hosts: other releases of SQLite, other processors, threads, valgrind.

.PHONY: sqlite-versions
sqlite-versions: ## Build older and newer SQLite libraries, for `make check` to run on them too (npm)
	@sh ext/tools/install-packages.sh check versions
	@sh tests/hosts/build-sqlite.sh

.PHONY: check-sqlite-versions
check-sqlite-versions: ## Build those, and run on them what goes through Python's sqlite3
	@$(call ready,check versions,npyext.so sqlite-versions)
	@$(suite) tests/hosts/test_sqlite_versions.py

# What tests/hosts/foreign.sh builds with cross compilers, whose CC, CFLAGS and LDFLAGS it gives.
flags_s390x     = $(CFLAGS)
flags_arm64     = $(CFLAGS)
flags_i386      = $(CFLAGS) -msse2 -mfpmath=sse -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64
extension_s390x = .build/s390x/npyext.so
extension_arm64 = .build/arm64/npyext.so
extension_i386  = .build/i386/npyext.so
$(eval $(call flavour,s390x))
$(eval $(call unit_tests,s390x))
$(eval $(call flavour,arm64))
$(eval $(call unit_tests,arm64))
$(eval $(call flavour,i386))
$(eval $(call unit_tests,i386))

# ThreadSanitizer sees what SQLite does, too, when that is built with it (tests/hosts/build-sqlite.sh, which needs npm).
flags_tsan     = -O1 -g -fsanitize=thread -fno-omit-frame-pointer
extension_tsan = .build/tsan/npyext.so
sqlite_release = -lsqlite3
sqlite_asan    = -lsqlite3
sqlite_coverage = -lsqlite3
sqlite_tsan    = $(if $(wildcard .build/tsan/sqlite/libsqlite3.so.0),.build/tsan/sqlite/libsqlite3.so.0 -Wl$(comma)-rpath$(comma)$(CURDIR)/.build/tsan/sqlite,-lsqlite3)
$(eval $(call flavour,tsan))
$(eval $(call unit_tests,tsan))

# Programs of tests/hosts that use SQLite as a host does.
drivers := $(patsubst tests/hosts/%.c,%,$(sort $(wildcard tests/hosts/*.c)))
define driven
.build/$(1)/host/%: .build/$(1)/tests/hosts/%.o
	@mkdir -p $$(@D)
	$$(CC) $$(flags_$(1)) $$(LDFLAGS) -o $$@ $$^ $$(sqlite_$(1)) -lpthread -ldl

units-$(1): $$(drivers:%=.build/$(1)/host/%)
-include $$(drivers:%=.build/$(1)/tests/hosts/%.d)
endef
$(eval $(call driven,release))
$(eval $(call driven,asan))
$(eval $(call driven,tsan))
$(eval $(call driven,coverage))

.PHONY: check-threads
check-threads: ## Many threads, under ThreadSanitizer (and SQLite with it, where npm can fetch it)
	@sh ext/tools/install-packages.sh check
	@! command -v npm >/dev/null || sh tests/hosts/build-sqlite.sh latest .build/tsan/sqlite -fsanitize=thread
	@$(again) .build/tsan/npyext.so units-tsan
	@NPYEXT_FLAVOUR=tsan $(suite) tests/hosts/test_threads.py

.PHONY: check-foreign
check-foreign: ## Unit tests and SQL on a big-endian, a 32-bit and an ARM host, emulated (s390x, i386, arm64; Debian only)
	@sh tests/hosts/foreign.sh s390x i386 arm64

.PHONY: check-valgrind
check-valgrind: ## Unit tests and SQL under valgrind's memcheck
	@sh ext/tools/install-packages.sh check valgrind
	@$(again) -s npyext.so units-release
	@$(PYTHON) -B tests/hosts/valgrind.py
