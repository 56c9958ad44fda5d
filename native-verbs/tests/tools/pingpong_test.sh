#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ibv_rc_pingpong, ibv_uc_pingpong and ibv_srq_pingpong between two processes, by events and by polling, with payloads checked.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ibv_rc_pingpong

pingpong() {
  program=$1
  shift
  port=$(free_port)
  start_server "$program" -g 1 -c -p "$port" "$@"
  wait_until tcp_listens "$port"
  run_client "$program" -g 1 -c -p "$port" "$@" localhost
  join_server
  grep -q 'iters in' "$work/client.log" || fail "no result"
}

pingpong ibv_rc_pingpong -e -n 1000
pingpong ibv_rc_pingpong -e -n 200 -s 65536
pingpong ibv_rc_pingpong -n 20
pingpong ibv_uc_pingpong -e -n 200 -s 65536
pingpong ibv_srq_pingpong -e -n 1000 -q 4
pingpong ibv_srq_pingpong -n 20
