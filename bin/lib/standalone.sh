# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after hosts.sh: what is known of the cluster of bin/standalone.

STANDALONE=$ROOT/target/standalone/$HOSTS

# group_of NAME: the pids of a daemon and its executors: its process group on its host. Zombies are in no namespace.
group_of() {
  local host group pid fields
  read -r host group 2>/dev/null <"$STANDALONE/pids/$1" || return 0
  for pid in $(ip netns pids "$(namespace_of "$host")" 2>/dev/null || true); do
    read -r fields 2>/dev/null <"/proc/$pid/stat" || continue
    # After the name in parentheses: state, parent, process group.
    read -r _ _ fields _ <<<"${fields##*) }"
    [ "$fields" != "$group" ] || echo "$pid"
  done
}

running_daemons() {
  local name
  for name in master worker-node1 worker-node2; do
    [ -z "$(group_of "$name")" ] || echo "$name"
  done
}

# How many workers the master counts.
alive_workers() { http_get node0 8080 /json/ | sed -n 's/.*"aliveworkers" *: *\([0-9]*\).*/\1/p'; }
