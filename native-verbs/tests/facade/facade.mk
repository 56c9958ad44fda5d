# SPDX-License-Identifier: Apache-2.0
# Tests of the libraries for unmodified programs: their symbols, and the tools of the distribution over them.

FACADE_TESTS := $(patsubst %.c,$(OUT)/%,$(wildcard tests/facade/*.c))
TOOL_TESTS := $(sort $(wildcard tests/tools/*_test.sh))

$(OUT)/facade/symbols.inc: $(FACADE_TABLE) softdev/facade/generate.awk
	@mkdir -p $(@D)
	$(FACADE_GENERATE) -v want=test $(FACADE_TABLE) >$@

$(OUT)/release/tests/facade/facade_symbols.o: $(OUT)/facade/symbols.inc
$(OUT)/release/tests/facade/facade_symbols.o: CPPFLAGS += -I $(OUT)/facade -DFACADE_DIR='"$(CURDIR)/$(FACADE_DIR)"'

$(OUT)/tests/facade/facade_symbols: $(OUT)/release/tests/facade/facade_symbols.o $(FACADES)
	@mkdir -p $(@D)
	$(CC) -o $@ $< -ldl

# As programs are linked: by the names libibverbs and librdmacm.
$(OUT)/tests/facade/facade_program $(OUT)/tests/facade/facade_fork: $(OUT)/tests/%: $(OUT)/release/tests/%.o $(FACADES)
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(FACADES) -Wl,-rpath,'$$ORIGIN/../../lib/softverbs' -pthread
