# SPDX-License-Identifier: Apache-2.0
# libsoftverbs.so.1: the whole device, verbs and rdma_cm, in one library of its own name.

SOFTDEV_SOURCES := $(wildcard softdev/*.c)
SOFTDEV_OBJECTS := $(SOFTDEV_SOURCES:%.c=$(OUT)/release/%.o)
SOFTDEV_LIBRARY := $(LIB)/libsoftverbs.so.1

FAULT_PROGRAM := $(OUT)/bin/softverbs-fault

LIBRARIES += $(SOFTDEV_LIBRARY) $(FAULT_PROGRAM)

$(FAULT_PROGRAM): $(OUT)/release/softdev/control/softverbs_fault.o
	@mkdir -p $(@D)
	$(CC) -o $@ $<

$(SOFTDEV_LIBRARY): $(SOFTDEV_OBJECTS) softdev/libsoftverbs.map
	@mkdir -p $(@D)
	$(CC) $(RELEASE_LDFLAGS) -Wl,-z,nodelete -Wl,-soname,libsoftverbs.so.1 -Wl,--version-script=softdev/libsoftverbs.map \
	  -o $@ $(SOFTDEV_OBJECTS) -pthread
	ln -sf libsoftverbs.so.1 $(LIB)/libsoftverbs.so

$(OUT)/release/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(RELEASE_CFLAGS) $(CPPFLAGS) -c $< -o $@

$(OUT)/asan/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ASAN_CFLAGS) $(CPPFLAGS) -c $< -o $@

$(OUT)/tsan/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(TSAN_CFLAGS) $(CPPFLAGS) -c $< -o $@
