#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# perftest's SENDs, over each transport, with queue pairs connected by the program (plain) and by rdma_cm (-R), by polling
# and by events (-e), and the options that change how work is posted. Not -b -e with several queue pairs: perftest 4.5 polls a
# part of the completions for each event and waits for the next, which does not come if the last one brought more.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ib_send_bw

perftest_each <<'LIST'
ib_send_bw -n 100
ib_send_bw -n 100 -R
ib_send_bw -n 100 -e
ib_send_bw -n 100 -R -e
ib_send_bw -n 100 -z -R
ib_send_bw -n 100 -b -q 2
ib_send_bw -n 100 --use-srq -q 2
ib_send_bw -n 2000 -c UD
ib_send_bw -n 500 -c UD -s 64 -e -q 2
ib_send_lat -n 100
ib_send_lat -n 100 -R
ib_send_lat -n 100 -e
ib_send_lat -n 200 -c UD -s 64
ib_send_lat -n 200 -c UD -s 64 -e
ib_send_bw -n 100 -c UC
ib_send_bw -n 100 -c UC -e --use-srq
ib_send_lat -n 100 -c UC
ib_send_bw -n 200 -c UD -R -s 1024
ib_send_lat -n 100 -c UC -e
ib_send_lat -n 200 -c UD -R -s 1024
LIST
verdict
