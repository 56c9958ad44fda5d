#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# perftest's READs and atomics, over each transport, with queue pairs connected by the program (plain) and by rdma_cm (-R), by polling
# and by events (-e), and the options that change how work is posted.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ib_read_bw

perftest_each <<'LIST'
ib_read_bw -n 100
ib_read_bw -n 100 -R
ib_read_bw -n 100 -e
ib_read_bw -n 100 -R -e
ib_read_bw -n 100 -b
ib_read_bw -n 100 -q 4 -o 16
ib_read_lat -n 100
ib_read_lat -n 100 -R
ib_read_lat -n 100 -e
ib_atomic_bw -n 100 -A FETCH_AND_ADD
ib_atomic_bw -n 100 -A CMP_AND_SWAP -R
ib_atomic_bw -n 100 -e
ib_atomic_lat -n 100 -A FETCH_AND_ADD
ib_atomic_lat -n 100 -A CMP_AND_SWAP -R
ib_atomic_lat -n 100 -e
LIST
verdict
