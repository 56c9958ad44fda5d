#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Datagram queue pairs: ibv_ud_pingpong with payloads checked, and perftest over UD.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ibv_ud_pingpong
need ib_send_bw

pingpong() {
  port=$(free_port)
  start_server ibv_ud_pingpong -c -p "$port" "$@"
  wait_until tcp_listens "$port"
  run_client ibv_ud_pingpong -c -p "$port" "$@" localhost
  join_server
  grep -q 'iters in' "$work/client.log" || fail "no result"
}

perftest() {
  program=$1
  shift
  port=$(free_port)
  start_server "$program" -d softv0 -x 1 -c UD -p "$port" "$@"
  wait_until tcp_listens "$port"
  run_client "$program" -d softv0 -x 1 -c UD -p "$port" "$@" localhost
  join_server
  grep -q '^ *[0-9][0-9]* *[0-9]' "$work/client.log" || fail "$program $* printed no result"
}

pingpong -g 1 -n 500
pingpong -g 0 -n 200 -e
pingpong -g 1 -n 200 -s 4096
perftest ib_send_bw -n 2000
perftest ib_send_bw -n 500 -s 64 -e -q 2
perftest ib_send_lat -n 200 -s 64
perftest ib_send_lat -n 200 -s 64 -e
