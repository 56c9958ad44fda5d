# SPDX-License-Identifier: Apache-2.0
# libsoftverbs.so.1: the whole device, verbs and rdma_cm, in one library of its own name.

# From the ground up: none uses what is in a later one (check-order).
SOFTDEV_FOLDERS := process fault device memory link queue transport datagram cm
SOFTDEV_SOURCES := softdev/parts.c $(wildcard $(SOFTDEV_FOLDERS:%=softdev/%/*.c))
SOFTDEV_INCLUDES := -I softdev
SOFTDEV_OBJECTS := $(SOFTDEV_SOURCES:%.c=$(OUT)/release/%.o)
SOFTDEV_LIBRARY := $(LIB)/libsoftverbs.so.1

SANITIZED_LDFLAGS := -shared -Wl,-z,nodelete -Wl,-soname,libsoftverbs.so.1 -Wl,--version-script=softdev/libsoftverbs.map

FAULT_PROGRAM := $(OUT)/bin/softverbs-fault

LIBRARIES += $(SOFTDEV_LIBRARY) $(FAULT_PROGRAM)
CHECKS += check-order check-state

# It also has to find what is wrong when two folders are the other way round, and when one is not named.
check-order: $(SOFTDEV_OBJECTS)
	@softdev/check_order.sh "$(SOFTDEV_FOLDERS)" $^
	@for order in "$(filter-out fault,$(SOFTDEV_FOLDERS)) fault" "$(filter-out fault,$(SOFTDEV_FOLDERS))"; do \
	  ! softdev/check_order.sh "$$order" $^ >/dev/null || { echo "FAIL check_order.sh finds nothing wrong with $$order"; exit 1; }; \
	done
	@echo "PASS check_order.sh finds a wrong order"

$(FAULT_PROGRAM): $(OUT)/release/softdev/control/softverbs_fault.o
	@mkdir -p $(@D)
	$(CC) -o $@ $<

# State belongs to the engine (engine.h); what is writable beside it is named here.
SOFTDEV_STATE := engine threshold once lost_ones is_progress_thread device guid once fault_any

check-state: $(SOFTDEV_LIBRARY)
	@objdump -t $< | awk 'NF > 4 && $$(NF - 2) ~ /^\.(data|t?bss)$$/ && $$NF !~ /^(\.|__|completed\.)/ { sub(/\..*/, "", $$NF); print $$NF }' | \
	  sort >$(OUT)/state; printf '%s\n' $(SOFTDEV_STATE) | sort | diff - $(OUT)/state || \
	  { echo 'FAIL the library has other writable symbols than SOFTDEV_STATE (<) names: give them to the engine' >&2; exit 1; }
	@echo "PASS $(words $(SOFTDEV_STATE)) writable symbols beside the engine's parts"

$(SOFTDEV_LIBRARY): $(SOFTDEV_OBJECTS) softdev/libsoftverbs.map
	@mkdir -p $(@D)
	$(CC) $(RELEASE_LDFLAGS) -Wl,-z,nodelete -Wl,-soname,libsoftverbs.so.1 -Wl,--version-script=softdev/libsoftverbs.map \
	  -o $@ $(SOFTDEV_OBJECTS) -pthread
	ln -sf libsoftverbs.so.1 $(LIB)/libsoftverbs.so

# The same under the sanitizers, for tests. They leave symbols undefined, which the program brings.
$(OUT)/asan/libsoftverbs.so.1: $(SOFTDEV_SOURCES:%.c=$(OUT)/asan/%.o) softdev/libsoftverbs.map
	$(CC) $(ASAN_CFLAGS) $(SANITIZED_LDFLAGS) -o $@ $(filter %.o,$^)

$(OUT)/tsan/libsoftverbs.so.1: $(SOFTDEV_SOURCES:%.c=$(OUT)/tsan/%.o) softdev/libsoftverbs.map
	$(CC) $(TSAN_CFLAGS) $(SANITIZED_LDFLAGS) -o $@ $(filter %.o,$^)

$(SOFTDEV_OBJECTS) $(SOFTDEV_SOURCES:%.c=$(OUT)/asan/%.o) $(SOFTDEV_SOURCES:%.c=$(OUT)/tsan/%.o): CPPFLAGS += $(SOFTDEV_INCLUDES)

$(OUT)/release/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(RELEASE_CFLAGS) $(CPPFLAGS) -c $< -o $@

$(OUT)/asan/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ASAN_CFLAGS) $(CPPFLAGS) -c $< -o $@

$(OUT)/tsan/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(TSAN_CFLAGS) $(CPPFLAGS) -c $< -o $@
