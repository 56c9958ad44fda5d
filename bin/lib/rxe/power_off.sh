#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in both guests of a pair: TeraSort on their cluster, with guest 2 powered off while READs of its map outputs are
# under way. The sort must then either give the right result after a stage has run again, or fail as Spark fails a job.
# Guest 1 must log how it noticed the loss.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

# How long the sort may take after that: Spark gives up the executor after 120 s, and its work is done again.
limit=1200
powered_off=$RXE_SHARED/powered-off
# What guest 1's executor logs when it notices the loss of guest 2.
notice='RDMA peer=[^ ]*@(guest2|10\.9\.0\.2):.* event='
notice+='(PEER_UNREACHABLE|READ_ERROR|NO_PROGRESS|DISCONNECTED).* outstanding=[1-9]'

# Makes the READs of one reduce task, a sixteenth of the records' bytes, take some seconds.
slow_down() {
  modprobe sch_tbf
  tc qdisc add dev eth0 root tbf rate 8mbit burst 64k limit 64m
}

# Powers off once rxe0 has sent a quarter of the first such task's bytes. It has nothing to send before reducers read.
power_off_while_it_serves() {
  local sent first enough=$((records * 100 / 16 / 4096 / 4))
  local file=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
  read -r first <$file
  while [ ! -e "$RXE_SHARED/sorted" ]; do
    read -r sent <$file
    [ $((sent - first)) -lt "$enough" ] || power_off "$((sent - first))"
    sleep 0.05
  done
  say "the sort ended after only $((sent - first)) of $enough packets"
  return 1
}

# All that remains of this guest is the status for its bin/rxe.
power_off() {
  echo "rxe0 had sent $1 packets" >"$powered_off"
  echo 0 >/run/rxe/status
  echo o >/proc/sysrq-trigger
  sleep 60
  exit 1
}

# Waits for the sort and returns its status; fails if the sort does not end in time.
sort_to_the_end() {
  local process status=0 off=
  "${driver[@]}" >"$RXE_SHARED/driver.log" 2>&1 &
  process=$!
  while kill -0 $process 2>/dev/null; do
    if [ -z "$off" ] && [ -e "$powered_off" ]; then
      off=$SECONDS
      notices >"$RXE_SHARED/notices-before"
      say "guest 2 is off: $(cat "$powered_off")"
    elif [ -n "$off" ] && [ $((SECONDS - off)) -ge $limit ]; then
      kill -9 $process
      fail "the sort still ran $limit s after"
    fi
    sleep 1
  done
  wait $process || status=$?
  touch "$RXE_SHARED/sorted"
  [ -n "$off" ] || fail "guest 2 was powered off before the sort ended"
  say "the sort ended with status $status, $((SECONDS - off)) s after"
  return $status
}

fail() {
  echo "FAIL $1"
  exit 1
}

# require_line WHAT PATTERN FILES...: Requires such a line in one of the files, and prints it.
require_line() {
  local what=$1 pattern=$2
  shift 2
  grep -hE -m 1 "$pattern" "$@" || fail "$what"
  echo "PASS $what"
}

# notices: Prints the lines so far with which guest 1's executors noticed the loss.
notices() { grep -hE "$notice" "$RXE_SHARED"/work-guest1/*/*/stderr || true; }

judge() {
  local status=0 log=$RXE_SHARED/driver.log
  sort_to_the_end || status=$?
  notices | grep -vxFf "$RXE_SHARED/notices-before" >"$RXE_SHARED/notices" || true
  require_line "guest 1's executor says by what it noticed the loss, with READs under way" "$notice" \
    "$RXE_SHARED/notices"
  # Spark gives up the executor after 120 s only; the sort may have ended by then.
  require_line "a task says that it cannot fetch from guest 2" 'FetchFailed\(BlockManagerId\([0-9]+, guest2' "$log"
  if [ $status = 0 ] || grep -q '^terasort: valid' "$log"; then
    require_line "a stage ran again" '^terasort: stage [0-9]+ runs again' "$log"
    require_line "the sort ended right" "^terasort: valid records=$records " "$log"
  else
    require_line "the sort failed as Spark fails a job" 'SparkException: Job aborted' "$log"
  fi
}

start_cluster
if [ "$RXE_GUEST" = 1 ]; then
  judge
else
  slow_down
  power_off_while_it_serves
fi
