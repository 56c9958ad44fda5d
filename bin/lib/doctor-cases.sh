#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the cluster doctor between two namespace hosts, as they are and with faults of the link, of limits and of processes. Each case must end
# with its status and say what is wrong. Cases of the names that are given run, or all. Needs root.
# shellcheck disable=SC2317 # cases are called by their names
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/common.sh"
. "$ROOT/bin/lib/spark.sh"
export RDMA_HOSTS=${RDMA_HOSTS:-doctor$$}
. "$ROOT/bin/lib/hosts.sh"
. "$ROOT/bin/lib/cluster.sh"
. "$ROOT/bin/lib/cases.sh"

CLAIMS=(
  [good]="two hosts without a fault have status 0"
  [mtu]="an interface with another MTU is named, with the command that sets it"
  [slow]="a slow link is told from slow RDMA"
  [rdma_lost]="a host that loses RDMA alone is told from one that is gone"
  [one_way]="a firewall that stops connections in one direction is named with its direction"
  [stopped]="an executor that stops becomes a line of the report"
  [killed]="an executor that is killed becomes a line of the report"
  [memlock]="executors that may lock little, and lack CAP_IPC_LOCK, are told to raise the limit"
)
CASES=(good mtu slow rdma_lost one_way stopped killed memlock)
LIMIT=150
PORTS=28000-28999

# doctor STATUS TEXT [CONF...]: Runs the doctor with the settings, while `during` has a function run beside it. It must end with the status, and print
# a line that matches the text.
doctor() {
  local status=0 command settings=() each
  for each in "${@:3}"; do settings+=(--conf "$each"); done
  submit_command --master spark://node0:7077 "${DRIVER_CONF[@]}" --conf spark.ui.enabled=false --conf spark.cores.max=2 \
    --conf spark.executor.memory=512m --conf spark.shuffle.rdma.device=soft --conf "spark.executorEnv.SOFTVERBS_PORT_RANGE=$PORTS" \
    "${settings[@]}" --class org.apache.spark.shuffle.rdma.Doctor "$PLUGIN_JAR" \
    --executors 2 --hosts node1,node2 --json "$work/report.json"
  timeout "$LIMIT" "${command[@]}" >"$work/said" 2>"$work/progress" &
  local doctor=$!
  [ -z "${during:-}" ] || "$during"
  wait "$doctor" || status=$?
  [ "$status" = "$1" ] || { cat "$work/progress" "$work/said"; echo "status $status, not $1"; return 1; }
  grep -qE "$2" "$work/said" || { cat "$work/said"; echo "no line matches: $2"; return 1; }
}

# on HOST CMD...: Runs CMD in the network namespace of the host.
on() { ip netns exec "$(namespace_of "$1")" "${@:2}"; }

# executor_on HOST: Prints the process id of the executor there, when it is measured or about to be.
executor_on() {
  local deadline=$((SECONDS + 60)) pid
  while [ "$SECONDS" -lt "$deadline" ]; do
    if grep -q 'examines' "$work/progress" 2>/dev/null; then
      for pid in $(ip netns pids "$(namespace_of "$1")"); do
        if tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q CoarseGrainedExecutorBackend; then echo "$pid"; return; fi
      done
    fi
    sleep 0.05
  done
  return 1
}

case_good() { doctor 0 'RDMA serves on 2 of 2 ways'; }

case_mtu() {
  on node1 ip link set dev eth0 mtu 1400
  doctor 1 'FAULT node2: its interface MTU is 1500, and that of others 1400'
}
undo_mtu() { on node1 ip link set dev eth0 mtu 1500; }

case_slow() {
  on node1 tc qdisc add dev eth0 root tbf rate 80mbit burst 64kb latency 100ms
  doctor 1 'FAULT node2 -> node1: READs of 1 MiB bring .* less than a quarter of the median'
  grep -q 'TCP is slow there as well' "$work/said"
}
undo_slow() { on node1 tc qdisc del dev eth0 root; }

case_rdma_lost() {
  "$ROOT/bin/hosts" cut node2 --ports "$PORTS"
  doctor 1 'FAULT node1 -> node2: no connection: .*; TCP works'
}
undo_rdma_lost() { "$ROOT/bin/hosts" heal node2; }

case_one_way() {
  need_packages 'need_commands nft' nftables
  on node2 nft "table netdev one-way {
    chain arriving { type filter hook ingress device eth0 priority 0; ip saddr $(address4_of node1) tcp dport $PORTS tcp flags & (syn | ack) == syn drop; }
  }"
  doctor 1 'FAULT node1 -> node2: no connection'
  grep -q 'the other direction works' "$work/said"
}
undo_one_way() { on node2 nft delete table netdev one-way; }

stop_executor() { executor_on node2 >"$work/stopped" && kill -STOP "$(cat "$work/stopped")"; }
case_stopped() { during=stop_executor doctor 1 'FAULT node2: executor .* has not been heard of for 15 s'; }
undo_stopped() { kill -KILL "$(cat "$work/stopped")"; }

kill_executor() { local pid; pid=$(executor_on node2) && kill -KILL "$pid"; }
case_killed() { during=kill_executor doctor 1 'FAULT node2: executor .* (was lost|has not been heard of)'; }

# Executors have the limits of their workers. CAP_IPC_LOCK cannot be taken from a process that runs, so that local-cluster stands for the hosts.
case_memlock() {
  local status=0 command
  (unset SPARK_LOCAL_HOSTNAME && SUBMIT_HOST='' && export SPARK_LOCAL_IP=127.0.0.1
    submit_command --master 'local-cluster[2,1,1024]' --conf spark.ui.enabled=false --conf spark.shuffle.rdma.device=soft \
      --conf spark.executorEnv.SOFTVERBS_MEMLOCK=enforce --class org.apache.spark.shuffle.rdma.Doctor "$PLUGIN_JAR" --json "$work/report.json"
    timeout "$LIMIT" prlimit --memlock=8388608:8388608 setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "${command[@]}" \
      >"$work/said" 2>"$work/progress") || status=$?
  [ "$status" = 1 ] || { cat "$work/progress" "$work/said"; echo "status $status, not 1"; return 1; }
  grep -q 'no CAP_IPC_LOCK' "$work/said" && grep -q 'mend: LimitMEMLOCK=infinity' "$work/said"
}

select_cases "$@"
need_hosts_tools
make_own work "${TMPDIR:-/tmp}"
need_jdk_and_maven
build_jars benchmarks
prepare_spark_home
trap '"$ROOT/bin/standalone" stop; clean_up' EXIT
"$ROOT/bin/standalone" start
drive_from node0
run_cases
