# Fuzzing: libFuzzer's programs, and programs that replay files.

CLANG   = clang
SECONDS = 30
fuzzers      := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
fuzz_shared  := tests/fuzz/fuzz.c tests/fuzz/read_archive.c
# What fuzz_sql answers itself: its statements see one folder.
fuzz_wrapped := open openat __openat_2 stat fstatat faccessat access readlinkat syscall
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
    $$(if $$(filter header npz ten tar sql pickle,$(1)),tests/fuzz/mutate.c tests/fuzz/mutate_pickle.c) $$(codec) $$(call fuzz_sql_only,$(1),$$(sql)))
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
	@sh ext/tools/install-packages.sh fuzz
	@$(again) -s fuzzers
	@$(PYTHON) -B tests/fuzz/run.py $(SECONDS) $(TARGETS)

.PHONY: fuzz-learned
fuzz-learned: ## Add what runs with FUZZ_CORPUS=FOLDER have learned to tests/fuzz/learned, as few and small inputs as will do
	@sh ext/tools/install-packages.sh fuzz
	@$(again) -s fuzzers
	@$(PYTHON) -B tests/fuzz/learn.py $(FUZZ_CORPUS) $(TARGETS)
