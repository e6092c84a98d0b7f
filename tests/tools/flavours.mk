# The flavours of a build that tests need (ext/tools/build.mk has the rules), and the programs of unit tests.

sanitizer = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

flags_asan     = -O1 -g $(sanitizer)
# Sizes at which the code takes another path are variables (base/tunables.h).
flags_small    = $(CFLAGS) -DNPYX_TUNED -Wno-conversion -Wno-sign-compare
# Counts of lines, branches and conditions, which processes that end add up in a few files (tests/tools/coverage.py).
flags_coverage = -O1 -g -fprofile-instr-generate=$(CURDIR)/.build/coverage/profiles/%4m.profraw -fcoverage-mapping -fcoverage-mcdc \
                 -fprofile-update=atomic

extension_asan     = .build/asan/npyext.so
extension_small    = .build/small/npyext.so
extension_coverage = .build/coverage/npyext.so

# Code of ext/ that knows no SQLite and is tested without it.
plain := $(sort $(wildcard ext/source/pattern*.c))
units := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/test_*.c)))
# Those that try any number of items: others count what the released sizes give, or have arrays of such sizes.
units_small = test_difference test_filter test_histogram test_key_counts test_order_bounds

# The unit tests in one flavour.
define unit_tests
.build/$(1)/libnpyx.a: $$(codec:%.c=.build/$(1)/%.o) $$(plain:%.c=.build/$(1)/%.o)
	@rm -f $$@
	ar rcs $$@ $$^

.build/$(1)/unit/%: .build/$(1)/tests/unit/%.o .build/$(1)/libnpyx.a
	@mkdir -p $$(@D)
	$$(CC) $$(flags_$(1)) $$(LDFLAGS) -o $$@ $$^ -lcmocka $$(libraries)

.PHONY: units-$(1)
units-$(1): $$(foreach unit,$$(or $$(units_$(1)),$$(units)),.build/$(1)/unit/$$(unit))

-include $$(patsubst %.c,.build/$(1)/%.d,$$(units:%=tests/unit/%.c))
endef
$(foreach name,asan small coverage,$(eval $(call flavour,$(name))))
$(foreach name,release asan small coverage,$(eval $(call unit_tests,$(name))))
