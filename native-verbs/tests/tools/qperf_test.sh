#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# qperf: latency, bandwidth and atomics, the last of which it verifies, over connections of rdma_cm (-cm 1; without it qperf names
# its peers by LID, which no RoCE device has; its tests of UC and UD know no other way).
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need qperf

measure() {
  rm -f "$work/client.log"
  run_client qperf -lp "$port" "$server_name" -t 1 -cm 1 "$@"
  for name; do
    grep -A 1 "^$name:" "$work/client.log" | grep -q ' = [0-9.]* [GMKu]*' || fail "$name has no result"
  done
}

one_host() {
  port=$(free_port)
  start_server qperf -lp "$port"
  wait_until tcp_listens "$port"
  measure rc_lat rc_bw
  measure rc_rdma_read_bw rc_rdma_write_poll_lat ver_rc_compare_swap ver_rc_fetch_add
  end_server
}

two_hosts() {
  port=$(free_port)
  start_server qperf -lp "$port"
  wait_until tcp_listens "$port"
  measure rc_lat rc_bi_bw rc_rdma_read_lat
  end_server
}

try "one host" one_host
use_hosts
try "two hosts" two_hosts
verdict
