#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# perftest's bandwidth and latency programs; READs with each path forced (their buffers are not files, so `file`
# falls to the wire).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ib_read_bw

perftest() {
  program=$1
  shift
  port=$(free_port)
  start_server "$program" -d softv0 -x 1 -p "$port" "$@"
  case " $* " in
    *' -R '*) wait_until cm_listens "$port" ;;
    *) wait_until tcp_listens "$port" ;;
  esac
  run_client "$program" -d softv0 -x 1 -p "$port" "$@" localhost
  join_server
  grep -q '^ *[0-9][0-9]* *[0-9]' "$work/client.log" || fail "$program $* printed no result"
}

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
perftest ib_write_lat -n 50 -s 8
perftest ib_send_bw -n 50 -s 65536 -e
perftest ib_send_lat -n 50 -s 64 -e
perftest ib_send_bw -n 50 -s 4096 -e -R
perftest ib_atomic_bw -n 50 -A FETCH_AND_ADD -e
perftest ib_atomic_lat -n 50 -A CMP_AND_SWAP
[ "$(counter atomics)" -gt 0 ] || fail "no atomic was counted"
