# SPDX-License-Identifier: Apache-2.0
# Every file of TEST_FOLDERS, which are those of the device and hosts (tests between bin/hosts), is one test program, linked with
# the library; the sanitizer builds link the library's own objects, built likewise. Programs that must run under TSan are listed in
# TSAN_TESTS. What they share is in tests/support, the tests of the facades are in tests/facade.

TEST_FOLDERS := $(SOFTDEV_FOLDERS) hosts
TEST_SOURCES := $(wildcard $(TEST_FOLDERS:%=tests/%/*.c))
TEST_NAMES := $(TEST_SOURCES:tests/%.c=%)
TSAN_TESTS := $(filter %_stress,$(TEST_NAMES))

CHECKS += check-tests check-error-semantics
ASAN_CHECKS += asan-tests
TSAN_CHECKS += tsan-tests

$(OUT)/tests/%: $(OUT)/release/tests/%.o $(SOFTDEV_LIBRARY)
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(INTERNALS) -Wl,-rpath,'$$ORIGIN/../../lib' $(SOFTDEV_LIBRARY) -pthread

# What the library does not export, for the one test that calls it; the sanitizer builds link all objects anyway.
$(OUT)/tests/process/sha256: INTERNALS := $(OUT)/release/softdev/process/sha256.o

$(OUT)/asan-tests/%: $(OUT)/asan/tests/%.o $(SOFTDEV_SOURCES:%.c=$(OUT)/asan/%.o)
	@mkdir -p $(@D)
	$(CC) $(ASAN_CFLAGS) -o $@ $^

$(OUT)/tsan-tests/%: $(OUT)/tsan/tests/%.o $(SOFTDEV_SOURCES:%.c=$(OUT)/tsan/%.o)
	@mkdir -p $(@D)
	$(CC) $(TSAN_CFLAGS) -o $@ $^

$(OUT)/release/tests/%.o $(OUT)/asan/tests/%.o $(OUT)/tsan/tests/%.o: CPPFLAGS += $(SOFTDEV_INCLUDES) -I tests/support

check-tests: $(TEST_NAMES:%=$(OUT)/tests/%)
	tests/run -j 2 $(sort $^)

# Is every row of the table tested, and every status in it?
check-error-semantics:
	@printf '#include <infiniband/verbs.h>\n' | $(CC) -E -P - >$(OUT)/verbs.i
	@tests/error_semantics.sh ../docs/error-semantics.md $(OUT)/verbs.i

asan-tests: $(TEST_NAMES:%=$(OUT)/asan-tests/%)
	tests/run -j 2 $(sort $^)

tsan-tests: $(TSAN_TESTS:%=$(OUT)/tsan-tests/%)
	tests/run $(sort $^)

.PRECIOUS: $(OUT)/release/tests/%.o $(OUT)/asan/tests/%.o $(OUT)/tsan/tests/%.o $(OUT)/asan/%.o $(OUT)/tsan/%.o
