# SPDX-License-Identifier: Apache-2.0
# libibverbs.so.1 and librdmacm.so.1 for unmodified programs (bin/softverbs): every exported symbol of the originals,
# as a jump into libsoftverbs.so.1 or a stub that says what is missing. All of it is generated from symbols.tbl.

FACADE_DIR := $(LIB)/softverbs
FACADES := $(FACADE_DIR)/libibverbs.so.1 $(FACADE_DIR)/librdmacm.so.1
FACADE_TABLE := softdev/facade/symbols.tbl
FACADE_GENERATE := awk -f softdev/facade/generate.awk
SYMBOLS_DOC := ../docs/softverbs-symbols.md

LIBRARIES += $(FACADES)
CHECKS += check-symbols

$(FACADE_DIR)/libibverbs.so.1: FACADE_NODES := IBVERBS
$(FACADE_DIR)/librdmacm.so.1: FACADE_NODES := RDMACM

FACADE_OBJECTS := $(OUT)/release/softdev/facade/stubs.o

$(FACADES): $(FACADE_DIR)/%: $(FACADE_OBJECTS) $(SOFTDEV_LIBRARY) $(FACADE_TABLE) \
    softdev/facade/generate.awk softdev/facade/facade.inc
	@mkdir -p $(@D) $(OUT)/facade
	$(FACADE_GENERATE) -v want=map -v lib=$(FACADE_NODES) $(FACADE_TABLE) >$(OUT)/facade/$*.map
	$(FACADE_GENERATE) -v want=asm -v lib=$(FACADE_NODES) $(FACADE_TABLE) >$(OUT)/facade/$*.S
	$(CC) $(RELEASE_LDFLAGS) -I softdev/facade -Wl,-z,nodelete -Wl,-soname,$* -Wl,-rpath,'$$ORIGIN/..' \
	  -Wl,--version-script=$(OUT)/facade/$*.map -o $@ $(OUT)/facade/$*.S $(FACADE_OBJECTS) $(SOFTDEV_LIBRARY)

# Fails if the page is not what the table says; UPDATE=1 writes it.
check-symbols: $(FACADES)
	@mkdir -p $(OUT)/facade $(dir $(SYMBOLS_DOC))
	@$(FACADE_GENERATE) -v want=doc $(FACADE_TABLE) >$(OUT)/facade/symbols.md
	@if [ "$(UPDATE)" = 1 ]; then cp $(OUT)/facade/symbols.md $(SYMBOLS_DOC); fi
	@cmp $(OUT)/facade/symbols.md $(SYMBOLS_DOC) || \
	  { echo 'docs/softverbs-symbols.md is out of step: UPDATE=1 make -C native-verbs check-symbols' >&2; exit 1; }
