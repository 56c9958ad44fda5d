# SPDX-License-Identifier: Apache-2.0
# The test programs as programs of the distribution's libibverbs and librdmacm, for bin/rxe: their very object files, but for the
# names that these libraries export, which the software device's library gives the prefix softverbs_. What is left of
# its names is used on the software device alone. All but those that docs/rxe-differences.md names as not run.

RXE_PAGE := ../docs/rxe-differences.md
VERBS_OWN := softverbs_get_counters softverbs_reg_file_mr
VERBS_TESTS := $(filter-out $(shell sed -n 's/^    not run | \([^ |]*\) | .*/\1/p' $(RXE_PAGE) | sed 's/\*/%/'),$(TEST_NAMES))

verbs-tests: $(VERBS_TESTS:%=$(OUT)/verbs-tests/%)
	printf '%s\n' $(VERBS_TESTS) >$(OUT)/verbs-tests/tests

$(OUT)/verbs-tests/%: $(OUT)/release/tests/%.o
	@mkdir -p $(@D)
	nm -u $< | awk '/ softverbs_/ { name = $$2; sub(/^softverbs_/, "", name); print $$2, name }' | \
	  grep -vE '^(softverbs_get_counters|softverbs_reg_file_mr) ' >$@.names
	objcopy --redefine-syms=$@.names $(VERBS_OWN:%=--weaken-symbol=%) $< $@.o
	$(CC) -o $@ $@.o -Wl,-z,dynamic-undefined-weak -lrdmacm -libverbs -pthread

CHECKS += check-verbs-tests

check-verbs-tests: $(FACADES) $(OUT)/verbs-tests/transport/error_rem_access
	@tests/rxe/check.sh $(RXE_PAGE) $(OUT)/verbs-tests/transport/error_rem_access

.PHONY: verbs-tests
