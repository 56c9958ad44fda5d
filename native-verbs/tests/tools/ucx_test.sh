#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# UCX on the device: the uct transports rc_verbs and ud_verbs one by one, ucp over both, connections by rdmacm with the data
# checked, and a peer that is killed; then between two hosts.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need ucx_perftest
need_dev
export UCX_TLS=rc_verbs,ud_verbs UCX_NET_DEVICES=softv0:1 UCX_SOCKADDR_TLS_PRIORITY=rdmacm UCX_HANDLE_ERRORS=none

devices() {
  timeout -k 2 20 "$softverbs" --dev ucx_info -d >"$work/info.log" 2>&1 || fail "ucx_info -d"
  for name in rc_verbs ud_verbs; do
    grep -A 1 "Transport: $name" "$work/info.log" | grep -q 'Device: softv0:1' || fail "no transport $name"
  done
  grep -q 'Connection manager: rdmacm' "$work/info.log" || fail "no connection manager rdmacm"
}

ucx_perftest_with() {
  pair tcp_listens --dev ucx_perftest -p PORT -n 100 -w 5 "$@" -- \
    --dev ucx_perftest -p PORT -n 100 -w 5 "$@" "$server_address"
  expect_line '^Final:'
}

uct() {
  transport=$1
  shift
  ucx_perftest_with -d softv0:1 -x "$transport" "$@"
}

# io_demo fills and checks what it reads and writes (-q). Its server goes on until it is ended.
io_demo_over_rdmacm() {
  port=$(free_port)
  start_server --dev io_demo -q -d "$1" -p "$port"
  wait_until cm_listens "$port"
  run_client --dev io_demo -q -d "$1" -p "$port" -i 200 -o read,write "$server_address"
  expect_line "Client exit with status 'OK'"
  end_server
}

killed_server() {
  port=$(free_port)
  start_server --dev io_demo -q -d 4096:4096 -p "$port"
  wait_until cm_listens "$port"
  timeout -k 2 30 "$softverbs" --dev io_demo -q -d 4096:4096 -p "$port" -i 1000000000 -o read,write -c 1 "$server_address" \
    >"$work/client.log" 2>&1 &
  client=$!
  within 10 grep -q 'Connected to server' "$work/client.log" || fail "the client did not connect"
  pkill -KILL -P "$server" # what `timeout` runs
  status=0
  wait "$client" || status=$?
  grep -aq "detected error: \|retries exceeded" "$work/client.log" || fail "the client noticed nothing; status $status"
  case $status in 124 | 134 | 139) fail "status $status" ;; esac
}

server_address=127.0.0.1
try "ucx_info -d" devices
while read -r transport arguments; do
  # shellcheck disable=SC2086
  try "uct $transport $arguments" uct "$transport" $arguments
done <<'LIST'
rc_verbs -t am_lat -s 40 -D short
rc_verbs -t am_bw -s 8000 -D zcopy
rc_verbs -t put_lat -s 8
rc_verbs -t put_bw -s 65536 -D zcopy
rc_verbs -t get -s 8000 -D bcopy
rc_verbs -t get -s 65536 -D zcopy
rc_verbs -t add_mr -s 8
rc_verbs -t fadd -s 8
rc_verbs -t cswap -s 8
ud_verbs -t am_lat -s 40 -D short
ud_verbs -t am_bw -s 4000 -D bcopy
LIST
try "ucp tag_lat" ucx_perftest_with -t tag_lat -s 8
try "ucp tag_bw" ucx_perftest_with -t tag_bw -s 1000000
try "ucp_get" ucx_perftest_with -t ucp_get -s 100000
try "ucp_fadd" ucx_perftest_with -t ucp_fadd -s 8
try "ucp stream_bw" ucx_perftest_with -t stream_bw -s 4096
try "io_demo by rdmacm" io_demo_over_rdmacm 1024:65536
try "io_demo, server killed" killed_server

use_hosts
server_address=10.77.0.10
try "two hosts, uct rc_verbs get" uct rc_verbs -t get -s 65536 -D zcopy
try "two hosts, uct ud_verbs am_bw" uct ud_verbs -t am_bw -s 1000 -D bcopy
try "two hosts, ucp tag_bw" ucx_perftest_with -t tag_bw -s 1000000
try "two hosts, io_demo by rdmacm" io_demo_over_rdmacm 1024:65536
verdict
