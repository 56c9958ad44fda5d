#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Datagrams between two hosts: ibv_ud_pingpong, udaddy over IPv4 and IPv6, and perftest.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need udaddy
need ibv_ud_pingpong
need ib_send_bw

hosts=$(dirname "$softverbs")/hosts
[ "$(id -u)" = 0 ] || {
  echo "network namespaces need root"
  exit 77
}
RDMA_HOSTS=u$$
export RDMA_HOSTS
trap 'end_server; "$hosts" down; rm -rf "$work"' EXIT
"$hosts" up 2 2>"$work/up.log" || {
  tail -n 1 "$work/up.log"
  exit 77
}

# The server says on its output when it is ready.
says() { grep -q "$1" "$work/server.log"; }

# pair READY SERVER... -- CLIENT...
pair() {
  ready=$1
  shift
  server_command=
  while [ "$1" != -- ]; do
    server_command="$server_command $1"
    shift
  done
  shift
  # shellcheck disable=SC2086
  SOFTVERBS_LOG=info timeout -k 2 60 "$hosts" on node0 "$softverbs" stdbuf -oL $server_command >"$work/server.log" 2>&1 &
  server=$!
  wait_until says "$ready"
  timeout -k 2 60 "$hosts" on node1 "$softverbs" "$@" >"$work/client.log" 2>&1 || fail "client: $* (status $?)"
  join_server
}

pair 'cm: listens' udaddy -C 50 -S 2000 -- udaddy -C 50 -S 2000 -s node0
pair 'cm: listens' udaddy -b node0-v6 -- udaddy -s node0-v6
pair 'local address' ibv_ud_pingpong -g 1 -c -n 300 -- ibv_ud_pingpong -g 1 -c -n 300 node0
pair 'cm: listens' ib_send_bw -d softv0 -c UD -R -n 500 -- ib_send_bw -d softv0 -c UD -R -n 500 node0
[ "$("$hosts" bytes node1 | sed 's/.*tx=//')" -gt 2000000 ] || fail "the datagrams did not cross the link"
