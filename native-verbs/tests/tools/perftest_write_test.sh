#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# perftest's WRITEs, over each transport, with queue pairs connected by the program (plain) and by rdma_cm (-R), by polling
# and by events (-e), and the options that change how work is posted.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ib_write_bw

perftest_each <<'LIST'
ib_write_bw -n 50
ib_write_bw -n 50 -R
ib_write_bw -n 50 -b -s 4096
ib_write_bw -n 64 -l 8 -s 1024
ib_write_lat -n 50
ib_write_lat -n 50 -R
ib_write_lat -n 50 -I 64 -s 64
ib_write_bw -n 50 -c UC
ib_write_lat -n 50 -c UC
ib_write_bw -n 50 -c UC -s 4096
LIST
verdict
