#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rdma_server and rdma_client, rdma_xserver and rdma_xclient (endpoints, synchronous ids; the second pair posts through
# ibv_post_send), ucmatose (many connections, all events) and cmtime.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need rdma_server

port=$(free_port)
start_server rdma_server -p "$port"
wait_until cm_listens "$port"
run_client rdma_client -s 127.0.0.1 -p "$port"
join_server
grep -q 'end 0' "$work/client.log" || fail "rdma_client did not end with 0"

port=$(free_port)
start_server rdma_xserver -p "$port"
wait_until cm_listens "$port"
run_client rdma_xclient -s 127.0.0.1 -p "$port"
join_server
grep -q 'end 0' "$work/client.log" || fail "rdma_xclient did not end with 0"

# With -m its ids move to another event channel while they are connected.
for migrate in '' -m; do
  port=$(free_port)
  # shellcheck disable=SC2086
  start_server ucmatose $migrate -b 127.0.0.1 -p "$port" -c 8 -C 10 -S 256
  wait_until cm_listens "$port"
  # shellcheck disable=SC2086
  run_client ucmatose $migrate -s 127.0.0.1 -p "$port" -c 8 -C 10 -S 256
  join_server
  grep -q 'return status 0' "$work/client.log" || fail "ucmatose $migrate did not return 0"
done

port=$(free_port)
start_server cmtime -p "$port"
wait_until cm_listens "$port"
run_client cmtime -s 127.0.0.1 -p "$port" -c 20
grep -q '^connect' "$work/client.log" || fail "cmtime printed no times"
! grep -q 'event: RDMA_CM' "$work/client.log" || fail "a connection of cmtime failed"
end_server
