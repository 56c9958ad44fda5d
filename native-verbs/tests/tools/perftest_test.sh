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
  for reads in 'bw -s 65536' 'bw -s 1048576 -q 2' 'bw -s 4096 -R' 'lat -s 8'; do
    # shellcheck disable=SC2086
    perftest ib_read_$reads -n 50 -e
    expect_reads $taken
  done
done
unset SOFTVERBS_PATH
perftest ib_read_bw -a -n 16 -e
expect_reads cma
perftest ib_write_bw -n 50 -s 65536
[ "$(counter writes)" -gt 0 ] || fail "no WRITE was counted"
perftest ib_atomic_bw -n 50 -A FETCH_AND_ADD -e
[ "$(counter atomics)" -gt 0 ] || fail "no atomic was counted"
