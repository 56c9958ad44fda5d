#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# perftest with each path of READs forced, proven by the counters (its buffers are not files, so `file` falls to the wire).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ib_read_bw

for path in cma wire file; do
  SOFTVERBS_PATH=$path
  export SOFTVERBS_PATH
  taken=$path
  [ $path = file ] && taken=wire
  perftest ib_read_bw -n 50 -s 65536 -e
  expect_reads $taken
  perftest ib_read_bw -n 50 -s 1048576 -e -q 2
  expect_reads $taken
  perftest ib_read_bw -n 50 -s 4096 -e -R
  expect_reads $taken
  perftest ib_read_lat -n 50 -s 8 -e
  expect_reads $taken
done
unset SOFTVERBS_PATH
perftest ib_read_bw -a -n 16 -e
expect_reads cma
perftest ib_write_bw -n 50 -s 65536
[ "$(counter writes)" -gt 0 ] || fail "no WRITE was counted"
perftest ib_atomic_bw -n 50 -A FETCH_AND_ADD -e
[ "$(counter atomics)" -gt 0 ] || fail "no atomic was counted"
