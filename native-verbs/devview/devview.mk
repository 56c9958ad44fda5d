# SPDX-License-Identifier: Apache-2.0
# softverbs-dev, which bin/softverbs --dev runs: the device's files in /dev and /sys, for one program to see.

DEVVIEW := $(LIB)/softverbs/softverbs-dev
DEVVIEW_OBJECTS := $(patsubst %.c,$(OUT)/release/%.o,$(wildcard devview/*.c))

LIBRARIES += $(DEVVIEW)

$(DEVVIEW): $(DEVVIEW_OBJECTS) $(FACADE_DIR)/libibverbs.so.1 $(SOFTDEV_LIBRARY)
	@mkdir -p $(@D)
	$(CC) -o $@ $(DEVVIEW_OBJECTS) -Wl,-rpath,'$$ORIGIN' -Wl,-rpath-link,$(LIB) $(FACADE_DIR)/libibverbs.so.1
