# SPDX-License-Identifier: Apache-2.0
# Fuzz targets, under ASan and UBSan with clang's libFuzzer. `fuzz` is the regression of one minute, `fuzz-long` is
# RUNS inputs for each; both go on from the corpus that earlier runs left in $(FUZZ_OUT)/corpus. `fuzz-coverage` shows what
# of the engine that corpus reaches.

CLANG ?= clang
RUNS ?= 10000000
FUZZ_SECONDS ?= 7
FUZZ_JOBS ?= $(shell nproc)
COMMA := ,
FUZZ_OUT := $(OUT)/fuzz
FUZZ_TARGETS := fuzz_qp fuzz_handshake fuzz_cm fuzz_ud
FUZZ_VARIANTS := fuzz_qp fuzz_qp:paths fuzz_qp:secret fuzz_handshake fuzz_handshake:secret fuzz_cm fuzz_ud fuzz_ud:secret
FUZZ_SUPPORT := fuzz/fuzz_progress.c fuzz/harness.c fuzz/mutate.c fuzz/network.c
FUZZ_WRAPPED := random_bytes log_write secure_equal tcp_accepted tcp_connect tcp_result
FUZZ_CHECKS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_CFLAGS = -O2 -fno-omit-frame-pointer $(FUZZ_CHECKS) $(COMMON_CFLAGS)
FUZZ_LDFLAGS = -fsanitize=fuzzer $(FUZZ_CHECKS) -pthread $(addprefix -Wl$(COMMA)--wrap=,$(FUZZ_WRAPPED))
FUZZ_ENGINE := $(filter-out softdev/process/progress.c,$(SOFTDEV_SOURCES))
FUZZ_OBJECTS := $(FUZZ_ENGINE:%.c=$(FUZZ_OUT)/%.o) $(FUZZ_SUPPORT:%.c=$(FUZZ_OUT)/%.o)

.PHONY: fuzz fuzz-long fuzz-targets fuzz-coverage
.PRECIOUS: $(FUZZ_OUT)/%.o

$(FUZZ_OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(CLANG) -fsanitize=fuzzer-no-link $(FUZZ_CFLAGS) $(CPPFLAGS) $(SOFTDEV_INCLUDES) -I fuzz -c $< -o $@

$(FUZZ_TARGETS:%=$(FUZZ_OUT)/%): $(FUZZ_OUT)/%: $(FUZZ_OUT)/fuzz/%.o $(FUZZ_OBJECTS)
	$(CLANG) $(FUZZ_LDFLAGS) -o $@ $^

fuzz-targets: $(FUZZ_TARGETS:%=$(FUZZ_OUT)/%)

fuzz: fuzz-targets
	fuzz/run -j $(FUZZ_JOBS) -s $(FUZZ_SECONDS) $(FUZZ_OUT) $(FUZZ_VARIANTS)

fuzz-long: fuzz-targets
	fuzz/run -j $(FUZZ_JOBS) -r $(RUNS) $(FUZZ_OUT) $(FUZZ_VARIANTS)

fuzz-coverage:
	$(MAKE) fuzz-targets FUZZ_OUT=$(FUZZ_OUT)/coverage FUZZ_CHECKS='-fprofile-instr-generate -fcoverage-mapping'
	fuzz/coverage $(FUZZ_OUT) $(FUZZ_VARIANTS)
