#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe, whose limit of mappings it lowers: a process on the software device that publishes and reads far
# more map outputs than a process may have mappings.
set -euo pipefail
sysctl -q -w vm.max_map_count=1500
RDMA_TEST_DEVICE=soft "$(dirname "${BASH_SOURCE[0]}")/junit.sh" -c org.shufflerdma.fetch.FewDescriptorsTest
