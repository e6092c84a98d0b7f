# How the product is compiled: flavours of a build, each with its objects below .build, and what is handed on.
# Those for tests are in tests/tools/flavours.mk.

comma    := ,
warnings  = -Wall -Wextra -Wconversion $(WERROR)
base      = -std=c11 -D_GNU_SOURCE -Isrc -Iext -fPIC -fvisibility=hidden $(warnings)
libraries = -lz -lminizip -lm

flags_release     = $(CFLAGS)
extension_release = npyext.so

codec := $(sort $(wildcard src/*/*.c))
sql   := $(sort $(wildcard ext/*/*.c))

# The rules of one flavour: objects with their dependencies, and the extension. The file `flags` changes when the
# compiler or its flags do, and with it everything made by them.
define flavour
.build/$(1)/flags: always
	@mkdir -p $$(@D)
	@echo '$$(CC) $$(base) $$(flags_$(1)) $$(LDFLAGS)' > $$@.new
	@if cmp -s $$@.new $$@; then rm $$@.new; else mv $$@.new $$@$(if $(filter release,$(1)), && sh ext/tools/install-packages.sh --tell demo); fi

.build/$(1)/%.o: %.c .build/$(1)/flags
	@mkdir -p $$(@D)
	$$(CC) $$(base) $$(flags_$(1)) -MMD -MP -c -o $$@ $$<

$$(extension_$(1)): $$(codec:%.c=.build/$(1)/%.o) $$(sql:%.c=.build/$(1)/%.o)
	$$(CC) $$(flags_$(1)) -shared $$(LDFLAGS) -o $$@ $$^ $$(or $$(libraries_$(1)),$$(libraries))

.PRECIOUS: .build/$(1)/%.o
-include $$(patsubst %.c,.build/$(1)/%.d,$$(codec) $$(sql))
endef
$(eval $(call flavour,release))

.PHONY: always
always:

# Packages are installed before make looks for compilers and headers, hence a second make; on every core, unless
# the first one was told how many.
again = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$$(nproc || echo 1))
# $(call ready,GROUPS,TARGETS): the packages of those groups are installed, then those targets are made.
ready = sh ext/tools/install-packages.sh $(1) && $(again) -s $(2)

# ---- what is handed on: the codec as a library, one C file, a self-contained extension ----

version   := $(shell sed -n 's/^.define NPYEXT_VERSION "\(.*\)"/\1/p' ext/core/version.h)

.build/install/libnpyx.a: $(codec:%.c=.build/release/%.o)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

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
