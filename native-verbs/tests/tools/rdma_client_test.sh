#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rdma_server and rdma_client, rdma_xserver and rdma_xclient (endpoints, synchronous ids; the second pair posts through
# ibv_post_send), ucmatose (many connections, all events), udaddy (datagrams) and cmtime.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need rdma_server udaddy

endpoints() {
  pair cm_listens "$1" -p PORT -- "$2" -s 127.0.0.1 -p PORT
  expect_line 'end 0'
}

connection_times() {
  port=$(free_port)
  start_server cmtime -p "$port"
  wait_until cm_listens "$port"
  run_client cmtime -s 127.0.0.1 -p "$port" -c 20
  expect_line '^connect'
  ! grep -q 'event: RDMA_CM' "$work/client.log" || fail "a connection failed"
}

try "rdma_server, rdma_client" endpoints rdma_server rdma_client
try "rdma_xserver, rdma_xclient" endpoints rdma_xserver rdma_xclient
try "ucmatose" ucmatose_at 127.0.0.1
try "ucmatose whose ids move to another event channel" ucmatose_at 127.0.0.1 -m
# Others on this host may use the one port that udaddy knows.
try "udaddy" udaddy_at "127.7.$(($$ / 256 % 256)).$(($$ % 256))" -c 3 -C 50 -S 2000
try "cmtime" connection_times
verdict
