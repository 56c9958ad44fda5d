# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced in both guests of a pair: runs a Spark standalone cluster on them. Guest 1 has the master, the driver and an
# executor, guest 2 the other executor. Logs and the executors' work folders are in $RXE_SHARED. Every wait here ends
# with the guest, whose time bin/rxe bounds.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/traffic.sh"
commands=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)/target/rxe/cluster/commands
[ -e "$commands" ] || { echo "no $commands: run bin/lib/rxe/prepare_cluster.sh on the host" >&2; exit 2; }
# shellcheck disable=SC2034
records='' driver=()
# shellcheck source=/dev/null
. "$commands"
daemons=()
export SPARK_LOCAL_DIRS=/dev/shm/spark SPARK_LOCAL_HOSTNAME=guest$RXE_GUEST
trap 'kill "${daemons[@]}" 2>/dev/null || true' EXIT

say() { printf '%5.0f s: %s\n' "$(cut -d ' ' -f 1 /proc/uptime)" "$*"; }

# start_daemon NAME: Starts the command of that name with its output in the shared folder.
start_daemon() {
  local -n words=$1
  "${words[@]}" >"$RXE_SHARED/$1.log" 2>&1 &
  daemons+=($!)
}

# await WHAT CMD...: Waits until CMD succeeds; fails if a daemon has ended.
await() {
  local what=$1 daemon
  shift
  until "$@" 2>/dev/null; do
    for daemon in "${daemons[@]}"; do
      kill -0 "$daemon" 2>/dev/null || { say "a daemon ended before $what: see its log in the shared folder"; exit 1; }
    done
    sleep 0.5
  done
}

master_listens() { (exec 3<>/dev/tcp/guest1/7077); }

# Workers keep trying until the master is there, whereas a driver soon gives up.
start_cluster() {
  [ "$RXE_GUEST" = 2 ] || start_daemon master
  start_daemon "worker$RXE_GUEST"
  await "the master listened" master_listens
  say "the master listens"
}
