# SPDX-License-Identifier: Apache-2.0
# Every file of TEST_FOLDERS, which are those of the device and hosts (tests between bin/hosts), is one test program, linked with
# the library, and for the sanitizers with one of their own; TSAN_TESTS are those that run under TSan. What they share
# is in tests/support, the tests of the facades are in tests/facade.

TEST_FOLDERS := $(SOFTDEV_FOLDERS) hosts
TEST_SOURCES := $(wildcard $(TEST_FOLDERS:%=tests/%/*.c))
TEST_NAMES := $(TEST_SOURCES:tests/%.c=%)
# Under TSan not: what looks at memory while a READ or a peer writes there, as RDMA programs do, and what takes long.
TSAN_LEFT_OUT := memory/%_load memory/file_% queue/fence queue/srq_peer_death transport/error_% transport/read% transport/write \
  transport/wire_fuzz transport/uc% transport/wrong_keys% transport/reply_order transport/atomic_processes
TSAN_TESTS := $(filter %_stress,$(TEST_NAMES)) \
  $(filter-out %_stress $(TSAN_LEFT_OUT),$(filter queue/% memory/% transport/%,$(TEST_NAMES)))

# At a time: most of them wait most of the time.
TEST_JOBS := 4

CHECKS += check-tests check-error-semantics
ASAN_CHECKS += asan-tests
TSAN_CHECKS += tsan-tests

$(OUT)/tests/%: $(OUT)/release/tests/%.o $(SOFTDEV_LIBRARY)
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(INTERNALS) -Wl,-rpath,'$$ORIGIN/../../lib' $(SOFTDEV_LIBRARY) -pthread

$(OUT)/asan-tests/%: $(OUT)/asan/tests/%.o $(OUT)/asan/libsoftverbs.so.1
	@mkdir -p $(@D)
	$(CC) $(ASAN_CFLAGS) -o $@ $< $(INTERNALS:$(OUT)/release/%=$(OUT)/asan/%) -Wl,-rpath,'$$ORIGIN/../../asan' $(OUT)/asan/libsoftverbs.so.1

$(OUT)/tsan-tests/%: $(OUT)/tsan/tests/%.o $(OUT)/tsan/libsoftverbs.so.1
	@mkdir -p $(@D)
	$(CC) $(TSAN_CFLAGS) -o $@ $< -Wl,-rpath,'$$ORIGIN/../../tsan' $(OUT)/tsan/libsoftverbs.so.1

# Only builds the programs, for tests elsewhere.
test-programs: $(TEST_NAMES:%=$(OUT)/tests/%)
.PHONY: test-programs

# What the library does not export, for the one test that calls it.
$(OUT)/tests/process/sha256 $(OUT)/asan-tests/process/sha256: INTERNALS := $(OUT)/release/softdev/process/sha256.o

$(OUT)/release/tests/%.o $(OUT)/asan/tests/%.o $(OUT)/tsan/tests/%.o: CPPFLAGS += $(SOFTDEV_INCLUDES) -I tests/support

# Tools first: theirs are the longest, up to twenty cases each, and each case has limits of its own.
check-tests: $(TEST_NAMES:%=$(OUT)/tests/%) $(FACADE_TESTS)
	@set -- tests/*.c; [ ! -e "$$1" ] || { echo "FAIL $$1: is in none of the folders, so nobody runs it"; exit 1; }
	tests/run -j $(TEST_JOBS) -t 300 $(TOOL_TESTS) $(sort $^)

# Is every row of the table tested, and every status in it?
check-error-semantics:
	@mkdir -p $(OUT)
	@printf '#include <infiniband/verbs.h>\n' | $(CC) -E -P - >$(OUT)/verbs.i
	@tests/error_semantics.sh ../docs/error-semantics.md $(OUT)/verbs.i

asan-tests: $(TEST_NAMES:%=$(OUT)/asan-tests/%)
	tests/run -j $(TEST_JOBS) -t 600 $(sort $^)

tsan-tests: $(TSAN_TESTS:%=$(OUT)/tsan-tests/%)
	tests/run -j $(TEST_JOBS) -t 600 $(sort $^)

.PRECIOUS: $(OUT)/release/tests/%.o $(OUT)/asan/tests/%.o $(OUT)/tsan/tests/%.o $(OUT)/asan/%.o $(OUT)/tsan/%.o
