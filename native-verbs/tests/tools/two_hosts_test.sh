#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The distribution's tools between two hosts of bin/hosts: every byte over the wire, which the counters of the link confirm; other
# hosts are refused; a cut link ends in an error.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need ib_read_bw rping ibv_rc_pingpong udaddy mckey ss
use_hosts

received_by() { "$bin/hosts" bytes "$1" | sed 's/rx=\([0-9]*\).*/\1/'; }

reads_cross_the_link() {
  before=$(received_by node1)
  perftest ib_read_bw -n 100 -s 1048576
  expect_reads wire
  [ $(($(received_by node1) - before)) -ge 104857600 ] || fail "100 MiB were read, and have not crossed the link"
}

datagrams_cross_the_link() {
  before=$(received_by node0)
  perftest ib_send_bw -n 500 -c UD -R
  [ $(($(received_by node0) - before)) -gt 2000000 ] || fail "the datagrams have not crossed the link"
}

hears_a_group() { "$bin/hosts" on node0 ss -Hlun 'sport = :24791' | grep -q .; }

# mckey on node0 receives what mckey on another host, or on the same one, sends to the group.
group() {
  client_host=$1
  start_server mckey -m "$2" -b "$3" -C 10
  wait_until hears_a_group
  run_client mckey -m "$2" -b "$4" -s -C 10
  join_server
  client_host=node1
}

endpoints() {
  pair cm_listens rdma_server -p PORT -- rdma_client -s node0 -p PORT
  expect_line 'end 0'
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

much_has_crossed() {
  [ $(($(received_by node0) - before)) -ge 10000000 ]
}

# A client that polls: completions in error must come within the retry time, whatever the link does.
cut_link() {
  port=$(free_port)
  start_server ib_write_bw -d softv0 -x 1 -p "$port" -D 20
  wait_until tcp_listens "$port"
  timeout -k 2 60 "$bin/hosts" on node1 "$softverbs" ib_write_bw -d softv0 -x 1 -p "$port" -D 20 node0 >"$work/client.log" 2>&1 &
  client=$!
  before=$(received_by node0)
  within 10 much_has_crossed || fail "nothing crosses the link"
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
try "datagrams over the link" datagrams_cross_the_link
try "mckey over the link, IPv4" group node1 239.77.3.3 10.77.0.10 10.77.0.11
try "mckey over the link, IPv6" group node1 ff15::3 fd77::10 fd77::11
try "mckey within a host" group node0 239.77.3.3 10.77.0.10 10.77.0.10
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
  try "$program" pingpong $program -c -n 100
  try "$program -e" pingpong $program -c -n 100 -e
done
try "rping" rping_at node0
try "rping by IPv6" rping_at node0-v6
try "rdma_server, rdma_client" endpoints
try "ucmatose" ucmatose_at node0
try "udaddy" udaddy_at node0 -c 2 -C 50 -S 2000
try "udaddy by IPv6" udaddy_at node0-v6
try "another secret" without_the_secret
try "a cut link" cut_link
verdict
