#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bin/hosts: two hosts that know each other by name, a cut link, exit status and signals of what runs in them, an `up`
# that repairs, and a `down` that leaves nothing behind.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"

hosts=$(dirname "$softverbs")/hosts
if [ "$(id -u)" != 0 ]; then
  "$hosts" up 2 2>"$work/out.log" && fail "up without root"
  grep -q 'sudo bin/hosts up 2' "$work/out.log" || fail "no remedy for who is not root"
  echo "network namespaces need root"
  exit 77
fi
need ping
RDMA_HOSTS=t$$
export RDMA_HOSTS
trap '"$hosts" down; rm -rf "$work"' EXIT

on() { timeout -k 2 20 "$hosts" on "$@" >"$work/on.log" 2>&1; }
reaches() { on "$1" ping -n -c 1 -W 1 "$2"; }
namespaces() { ip netns list | grep -c "^$RDMA_HOSTS-"; }

"$hosts" up 2 2>"$work/up.log" || {
  grep -q 'this kernel\|this container' "$work/up.log" || fail "up"
  tail -n 1 "$work/up.log"
  exit 77
}
for name in node1 node1-v6 10.77.0.11 fd77::11; do
  reaches node0 $name || fail "node0 does not reach $name"
done
! reaches node0 node2 || fail "node0 reaches a host that is not up"
# shellcheck disable=SC2016
on node1 sh -c '[ "$(uname -n)" = node1 ] && [ "$HOSTNAME" = node1 ] && [ "$(wc -c <"$SOFTVERBS_SECRET_FILE")" -eq 64 ]' ||
  fail "node1 has not its own name and secret"
[ "$(stat -c %a "/run/rdma-hosts/$RDMA_HOSTS/secret")" = 600 ] || fail "the secret is open to others"

# Exit status and signals are the program's own.
status=0
on node0 sh -c 'exit 7' || status=$?
[ $status -eq 7 ] || fail "exit status $status instead of 7"
"$hosts" on node0 sleep 60 &
sleeper=$!
sleeps() { ip netns pids "$RDMA_HOSTS-node0" | grep -qx $sleeper; }
within 5 sleeps || fail "nothing runs on node0"
kill -TERM $sleeper
wait $sleeper || status=$?
[ $status -eq 143 ] || fail "status $status after SIGTERM"

# Link counters, cut and heal.
bytes() { "$hosts" bytes "$1" | sed 's/.*tx=//'; }
before=$(bytes node0)
on node0 ping -n -q -c 10 -i 0.01 -s 10000 node1 || fail "large pings"
[ $(($(bytes node0) - before)) -ge 100000 ] || fail "the link's counters do not count"
"$hosts" cut node1
! reaches node0 node1 || fail "node1 answers with its link cut"
"$hosts" status | grep -q '^node1 .*link cut' || fail "status does not say cut"
reaches node1 node1 || fail "node1 lost its own address"
"$hosts" heal node1
reaches node0 node1 || fail "node1 does not answer after heal"
reaches node0 node1-v6 || fail "node1 does not answer by IPv6 after heal"

# `up` is idempotent, adds hosts, and makes anew what is gone.
"$hosts" up 2
ip netns del "$RDMA_HOSTS-node1"
"$hosts" up 3 || fail "up 3 after node1 was deleted"
reaches node1 node2 || fail "node1 does not reach node2"
[ "$(namespaces)" -eq 4 ] || fail "$(namespaces) namespaces instead of 3 and the switch"

# A process that takes no notice of SIGTERM, one that is stopped, and their children.
"$hosts" on node0 sh -c 'trap "" TERM; sleep 600 & sleep 600' >"$work/stubborn.log" 2>&1 &
"$hosts" on node1 sleep 600 >/dev/null 2>&1 &
stopped=$!
four_run() {
  running="$(ip netns pids "$RDMA_HOSTS-node0") $(ip netns pids "$RDMA_HOSTS-node1")"
  [ "$(echo "$running" | wc -w)" -ge 4 ]
}
within 5 four_run || fail "not all processes run"
kill -STOP $stopped
"$hosts" down || fail "down"
for pid in $running; do
  ! grep -qs '^State:[[:space:]]*[RSDTt]' "/proc/$pid/status" || fail "process $pid outlived down"
done
[ "$(namespaces)" -eq 0 ] || fail "namespaces are left behind"
[ ! -e "/run/rdma-hosts/$RDMA_HOSTS" ] || fail "state is left behind"
"$hosts" down || fail "down the second time"
