#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rping: connection by rdma_cm, SEND, READ, WRITE and data validation, with each READ path; IPv4 and IPv6.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need rping

ping_over() {
  address=$1
  shift
  port=$(free_port)
  start_server rping -s -a "$address" -p "$port" -C 50 -V "$@"
  wait_until cm_listens "$port"
  run_client rping -c -a "$address" -p "$port" -C 50 -V "$@"
  join_server
}

for path in cma wire file; do
  SOFTVERBS_PATH=$path
  export SOFTVERBS_PATH
  ping_over 127.0.0.1 -S 4096
  [ $path = file ] && path=wire
  expect_reads $path
done
unset SOFTVERBS_PATH
if grep -q '^0*1 ' /proc/net/if_inet6 2>/dev/null; then
  ping_over ::1
fi
