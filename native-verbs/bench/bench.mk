# SPDX-License-Identifier: Apache-2.0
# make bench [BENCH="--pairs N --run-ms N"]: the figures of docs/benchmarking.md. bench-smoke only shows that they can be taken.

BENCH_COMMON := bench/bench.c bench/scene.c
BENCH_NAMES := $(filter-out bench scene,$(patsubst bench/%.c,%,$(wildcard bench/*.c)))
BENCH_PROGRAMS := $(BENCH_NAMES:%=$(OUT)/bench/%)

CHECKS += bench-smoke

$(OUT)/release/bench/%.o: CPPFLAGS += $(SOFTDEV_INCLUDES) -I tests/support

$(OUT)/bench/%: $(OUT)/release/bench/%.o $(BENCH_COMMON:%.c=$(OUT)/release/%.o) $(SOFTDEV_LIBRARY)
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o,$^) -Wl,-rpath,'$$ORIGIN/../lib' $(SOFTDEV_LIBRARY) -pthread

.PHONY: bench
bench: all $(BENCH_PROGRAMS)
	@for program in $(BENCH_PROGRAMS); do $$program $(BENCH) || exit; done

bench-smoke: $(BENCH_PROGRAMS)
	@for program in $(BENCH_PROGRAMS); do \
	  timeout 60 $$program --smoke >$$program.log 2>&1; status=$$?; \
	  case $$status in \
	    0) echo "PASS $$program" ;; \
	    77) echo "SKIP $$program: $$(tail -n 1 $$program.log)" ;; \
	    *) echo "FAIL $$program: exit status $$status"; sed 's/^/    /' $$program.log; exit 1 ;; \
	  esac; done

.PRECIOUS: $(OUT)/release/bench/%.o
