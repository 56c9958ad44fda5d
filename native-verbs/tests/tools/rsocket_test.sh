#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sockets over RDMA: rstream, riostream and rcopy, with blocking calls, without, and by rpoll; and programs that know
# nothing of them, through librspreload. The bytes must have gone by SENDs and WRITEs of the device.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need rstream
need rcopy

stream() {
  program=$1
  shift
  port=$(free_port)
  start_server "$program" -p "$port" "$@"
  wait_until cm_listens "$port"
  run_client "$program" -p "$port" -s "$server_address" "$@"
  join_server
  grep -q '^custom' "$work/client.log" || fail "no result"
  [ "$(counter sends)" -gt 0 ] || fail "no SEND was counted"
}

copy() {
  head -c 5000000 /dev/urandom >"$work/from"
  port=$(free_port)
  start_server rcopy -p "$port"
  wait_until cm_listens "$port"
  run_client rcopy "$work/from" "$server_address:$work/to" -p "$port"
  cmp "$work/from" "$work/to" || fail "the copy differs"
  end_server
}

preloaded_iperf3() {
  need iperf3
  preload=$(find /usr/lib -name librspreload.so 2>/dev/null | head -n 1)
  [ -n "$preload" ] || skip "librspreload.so is not installed (librdmacm1)"
  port=$(free_port)
  start_server env LD_PRELOAD="$preload" iperf3 -s -1 -p "$port"
  wait_until cm_listens "$port"
  run_client env LD_PRELOAD="$preload" iperf3 -c "$server_address" -p "$port" -n 20M
  join_server
  [ "$(counter send_bytes)" -ge 20000000 ] || fail "20 MB did not go by RDMA"
}

server_address=127.0.0.1
while read -r program arguments; do
  # shellcheck disable=SC2086
  try "$program $arguments" stream "$program" $arguments
done <<'LIST'
rstream -T b -T v -S 4096 -I 50 -C 10
rstream -T b -S 1000000 -I 5 -C 10
rstream -T n -T v -S 65536 -I 5 -C 20
rstream -T a -S 100000 -I 5 -C 20
rstream -T b -T r -S 64 -I 50 -C 10
riostream -T b -T v -S 1000 -I 10 -C 10
riostream -T b -S 1000000 -I 5 -C 4
riostream -T a -S 64 -I 10 -C 10
LIST
try "rcopy" copy
try "iperf3 through librspreload" preloaded_iperf3

use_hosts
server_address=10.77.0.10
try "two hosts, rstream" stream rstream -T b -T v -S 65536 -I 5 -C 20
try "two hosts, riostream" stream riostream -T b -T v -S 1000 -I 5 -C 10
try "two hosts, iperf3 through librspreload" preloaded_iperf3
verdict
