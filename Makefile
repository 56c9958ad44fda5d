# SPDX-License-Identifier: Apache-2.0
# What people type; everything else is Maven (Java) and native-verbs/Makefile (C).

.PHONY: check format
check:
	bin/test
format:
	mvn -q -B spotless:apply
