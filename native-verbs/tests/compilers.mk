# SPDX-License-Identifier: Apache-2.0
# Does the device compile without a warning with each compiler that is here, on this system's headers of rdma-core and on those of
# other Debian releases that `make headers-SUITE` (headers-trixie) has fetched?

COMPILERS ?= gcc clang
HEADERS_OUT := $(OUT)/headers

CHECKS += check-compilers

.PHONY: check-compilers softdev-objects

softdev-objects: $(SOFTDEV_OBJECTS)

check-compilers:
	@for compiler in $(COMPILERS); do \
	  command -v $$compiler >/dev/null || { echo "left out: $$compiler is not installed"; continue; }; \
	  for headers in /usr/include $(wildcard $(HEADERS_OUT)/*/usr/include); do \
	    [ $$headers = /usr/include ] && with= || with="-isystem $$headers"; \
	    echo "$$compiler, $$headers"; \
	    $(MAKE) -s --no-print-directory CC="$$compiler $$with" OUT=$(OUT)/compilers/$$compiler/$$headers softdev-objects || exit 1; \
	  done; \
	done

headers-%:
	tests/fetch_headers.sh $* $(HEADERS_OUT)/$*
