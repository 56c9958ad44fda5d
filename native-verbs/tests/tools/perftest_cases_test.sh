#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# perftest: each operation and transport, with queue pairs connected by the program (plain) and by rdma_cm (-R), by polling
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
ib_write_bw -n 50
ib_write_bw -n 50 -R
ib_write_bw -n 50 -b -s 4096
ib_write_bw -n 64 -l 8 -s 1024
ib_write_lat -n 50
ib_write_lat -n 50 -R
ib_write_lat -n 50 -I 64 -s 64
ib_send_bw -n 100
ib_send_bw -n 100 -R
ib_send_bw -n 100 -e
ib_send_bw -n 100 -R -e
ib_send_bw -n 100 -z -R
ib_send_bw -n 100 -b -q 2
ib_send_bw -n 100 --use-srq -q 2
ib_send_bw -n 100 -c UD
ib_send_bw -n 100 -c UD -e
ib_send_lat -n 100
ib_send_lat -n 100 -R
ib_send_lat -n 100 -e
ib_send_lat -n 100 -c UD -e
ib_write_bw -n 50 -c UC
ib_write_lat -n 50 -c UC
ib_send_bw -n 100 -c UC
ib_send_bw -n 100 -c UC -e --use-srq
ib_send_lat -n 100 -c UC
ib_atomic_bw -n 100 -A FETCH_AND_ADD
ib_atomic_bw -n 100 -A CMP_AND_SWAP -R
ib_atomic_bw -n 100 -e
ib_atomic_lat -n 100 -A FETCH_AND_ADD
ib_atomic_lat -n 100 -A CMP_AND_SWAP -R
ib_atomic_lat -n 100 -e
ib_write_bw -n 50 -c UC -s 4096
ib_write_lat -n 50 -c UC
ib_send_bw -n 100 -c UC
ib_send_bw -n 100 -c UD -R
ib_send_lat -n 100 -c UC -e
ib_send_lat -n 100 -c UD -R
LIST
verdict
