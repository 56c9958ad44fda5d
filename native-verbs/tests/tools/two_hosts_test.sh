#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The distribution's tools between two hosts of bin/hosts: every byte over the wire, which the counters of the link confirm; other
# hosts are refused; a cut link ends in an error.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need ib_read_bw
need rping
need ibv_rc_pingpong
use_hosts

received_by() { "$bin/hosts" bytes "$1" | sed 's/rx=\([0-9]*\).*/\1/'; }

reads_cross_the_link() {
  before=$(received_by node1)
  perftest ib_read_bw -n 100 -s 1048576
  expect_reads wire
  [ $(($(received_by node1) - before)) -ge 104857600 ] || fail "100 MiB were read, and have not crossed the link"
}

pingpong() {
  program=$1
  shift
  port=$(free_port)
  start_server "$program" -g 1 -p "$port" "$@"
  wait_until tcp_listens "$port"
  run_client "$program" -g 1 -p "$port" "$@" "$server_name"
  join_server
  grep -q 'iters in' "$work/client.log" || fail "no result"
}

rdma_cm_ping() {
  port=$(free_port)
  start_server rping -s -a "$1" -p "$port" -C 50 -V
  wait_until cm_listens "$port"
  run_client rping -c -a "$1" -p "$port" -C 50 -V
  join_server
}

endpoints() {
  port=$(free_port)
  start_server rdma_server -p "$port"
  wait_until cm_listens "$port"
  run_client rdma_client -s node0 -p "$port"
  join_server
  grep -q 'end 0' "$work/client.log" || fail "rdma_client did not end with 0"
}

many_connections() {
  port=$(free_port)
  start_server ucmatose -p "$port" -c 8 -C 10 -S 256
  wait_until cm_listens "$port"
  run_client ucmatose -s node0 -p "$port" -c 8 -C 10 -S 256
  join_server
  grep -q 'return status 0' "$work/client.log" || fail "ucmatose did not return 0"
}

datagrams() {
  start_server udaddy -c 2 -C 5
  wait_until cm_listens 7174 # it takes no other
  run_client udaddy -s node0 -c 2 -C 5
  join_server
  grep -q 'return status 0' "$work/client.log" || fail "udaddy did not return 0"
}

without_the_secret() {
  port=$(free_port)
  start_server ibv_rc_pingpong -g 1 -p "$port"
  wait_until tcp_listens "$port"
  status=0
  SOFTVERBS_SECRET="not that of these hosts" timeout -k 2 30 "$bin/hosts" on node1 "$softverbs" ibv_rc_pingpong -g 1 -p "$port" node0 \
    >"$work/client.log" 2>&1 || status=$?
  case $status in 0 | 124) fail "status $status with another secret" ;; esac
  end_server
}

# A client that polls: completions in error must come within the retry time, whatever the link does.
cut_link() {
  port=$(free_port)
  start_server ib_write_bw -d softv0 -x 1 -p "$port" -D 20
  wait_until tcp_listens "$port"
  timeout -k 2 60 "$bin/hosts" on node1 "$softverbs" ib_write_bw -d softv0 -x 1 -p "$port" -D 20 node0 >"$work/client.log" 2>&1 &
  client=$!
  before=$(received_by node0)
  for _ in $(seq 100); do
    [ $(($(received_by node0) - before)) -lt 10000000 ] || break
    sleep 0.1
  done
  "$bin/hosts" cut node1
  began=$(date +%s)
  status=0
  wait "$client" || status=$?
  "$bin/hosts" heal node1
  grep -q 'Completion with error\|Failed status' "$work/client.log" || fail "no completion in error; status $status"
  [ $(($(date +%s) - began)) -le 15 ] || fail "the client took $(($(date +%s) - began)) s to notice"
  end_server
}

try "READs over the link" reads_cross_the_link
perftest_each <<'LIST'
ib_read_bw -n 100 -R -e
ib_read_lat -n 100
ib_write_bw -n 50
ib_write_bw -n 50 -c UC
ib_write_lat -n 50 -R
ib_send_bw -n 100 -e
ib_send_bw -n 100 -R -z
ib_send_bw -n 100 -c UD
ib_send_lat -n 100 -R
ib_send_lat -n 100 -c UC
ib_send_lat -n 100 -c UD -R
ib_atomic_bw -n 100 -R
ib_atomic_lat -n 100
LIST
for program in ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong; do
  try "$program" pingpong $program -n 100
  try "$program -e" pingpong $program -n 100 -e
done
try "rping" rdma_cm_ping node0
try "rping by IPv6" rdma_cm_ping node0-v6
try "rdma_server, rdma_client" endpoints
try "ucmatose" many_connections
try "udaddy" datagrams
try "another secret" without_the_secret
try "a cut link" cut_link
verdict
