#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ibv_rc_pingpong between two processes, by events and by polling, with payloads checked.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ibv_rc_pingpong

pingpong() {
  port=$(free_port)
  start_server ibv_rc_pingpong -g 1 -c -p "$port" "$@"
  wait_until tcp_listens "$port"
  run_client ibv_rc_pingpong -g 1 -c -p "$port" "$@" localhost
  join_server
  grep -q 'iters in' "$work/client.log" || fail "no result"
}

pingpong -e -n 1000
pingpong -e -n 200 -s 65536
pingpong -n 20
