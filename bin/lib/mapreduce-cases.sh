#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs jobs of MapReduce on namespace hosts over RDMA, as they are and with faults of node services, links and containers. Each must have
# the result that it has with Hadoop's own shuffle, and no failure that Hadoop counts. Cases of the names that are given run, or
# all. Needs root.
# shellcheck disable=SC2317 # cases are called by their names
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/common.sh"
. "$ROOT/bin/lib/spark.sh"
export RDMA_HOSTS=${RDMA_HOSTS:-mapred$$}
. "$ROOT/bin/lib/hosts.sh"
. "$ROOT/bin/lib/cluster.sh"
. "$ROOT/bin/lib/yarn.sh"
. "$ROOT/bin/lib/mapreduce.sh"

declare -A CLAIMS=(
  [codec]="compressed map outputs"
  [encrypted]="encrypted map outputs"
  [combine]="a combiner, and map outputs of several spills"
  [streaming]="Hadoop's streaming"
  [small]="60 maps x 20 reduces of small outputs"
  [classloader]="a class loader of the job's own: Hadoop's shuffle, and one line says so"
  [uber]="maps and reduces in one process: Hadoop's shuffle"
  [unknown_port]="no service at the port: HTTP"
  [reader_killed]="the service of a reducer's host is killed while it fetches"
  [owner_killed]="the service of a host with map outputs is killed while they are fetched"
  [owner_stopped]="the service of a host with map outputs stops answering"
  [restarted]="services are killed and started again while reducers fetch"
  [master_killed]="the job's master is killed while reducers fetch"
  [cut]="the link of a host with map outputs is cut for ten seconds while they are fetched"
)
CASES=(codec encrypted combine streaming small classloader uber unknown_port reader_killed owner_killed owner_stopped restarted master_killed cut)
# Set by make_own.
work=''

# job KIND NAME ARGS...: Runs a job of the examples or streaming; its log is $work/NAME.log.
job() {
  local log=$work/$2.log
  mapred_job "$1" "${@:3}" >"$log" 2>&1 </dev/null || { tail -n 30 "$log"; echo "$2 failed"; return 1; }
}

# output_of FOLDER: Prints a checksum of its records.
output_of() { hdfs_dfs -cat "$1/part-*" 2>/dev/null | sort | sha256sum; }

# both NAME ARGS...: Runs a job with each shuffle, with OUT in the arguments as the folder of the output, and compares. Of that over RDMA
# nothing may have come by HTTP unless `http` says so.
both() {
  local name=$1 kind
  shift
  for kind in http rdma; do
    hdfs_dfs -rm -r -f -skipTrash "/out/$name-$kind" >/dev/null 2>&1
    job "$kind" "$name-$kind" "${@//OUT//out/$name-$kind}"
  done
  [ "$(output_of "/out/$name-http")" = "$(output_of "/out/$name-rdma")" ] || { echo "the results differ"; return 1; }
  check_counters "$name-rdma"
}

# check_counters NAME: The job has failed in nothing, and every byte has come by RDMA or from own files unless `http` says
# otherwise: `some` if others may, `all` if none may have come so.
check_counters() {
  local failed rdma own shuffled
  failed=$(counter_of "$1" 'Failed Shuffles')
  rdma=$(counter_of "$1" BYTES) own=$(counter_of "$1" LOCAL_BYTES) shuffled=$(counter_of "$1" 'Reduce shuffle bytes')
  echo "$1: $rdma bytes by RDMA, $own from own files, of $shuffled; $(grep -E '^\s+HTTP_' "$work/$1.log" | xargs)"
  [ "$failed" = 0 ] || { echo "$failed failed shuffles"; return 1; }
  if grep -E '^\s+(BAD_ID|CONNECTION|IO_ERROR|WRONG_[A-Z]*)=[^0]' "$work/$1.log"; then echo "shuffle errors"; return 1; fi
  case ${http:-none} in
    none) [ "$rdma" -gt 0 ] && [ $((rdma + own)) = "$shuffled" ] ;;
    some) [ "$shuffled" -gt 0 ] ;;
    all) [ "$rdma" = 0 ] && [ "$shuffled" -gt 0 ] ;;
  esac
}

# text: Makes /text, four files of words, once.
text() {
  local k
  [ ! -d "$work/text" ] || return 0
  mkdir -p "$work/text"
  for k in 1 2 3 4; do awk -v seed="$k" 'BEGIN { srand(seed); for (i = 0; i < 40000; i++) { line = ""
    for (j = 0; j < 8; j++) line = line " word" int(exp(rand() * 9)); print line } }' >"$work/text/$k"; done
  hdfs_dfs -put -f "$work/text" /
}

sorted() { text; both "$1" examples sort "${@:2}" -inFormat org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat \
  -outFormat org.apache.hadoop.mapreduce.lib.output.TextOutputFormat -outKey org.apache.hadoop.io.Text -outValue org.apache.hadoop.io.Text \
  -r 3 /text OUT; }

case_codec() {
  sorted codec -D mapreduce.map.output.compress=true -D mapreduce.map.output.compress.codec=org.apache.hadoop.io.compress.DefaultCodec
  sorted bzip2 -D mapreduce.map.output.compress=true -D mapreduce.map.output.compress.codec=org.apache.hadoop.io.compress.BZip2Codec
}
case_encrypted() { sorted encrypted -D mapreduce.job.encrypted-intermediate-data=true; }
case_combine() { text; both combine examples wordcount -D mapreduce.job.reduces=3 -D mapreduce.task.io.sort.mb=1 /text OUT; }
case_streaming() {
  text
  both streaming streaming -D mapreduce.job.reduces=2 -input /text -output OUT -mapper 'tr " " "\n"' -reducer 'uniq -c'
}
case_small() {
  local k
  text
  mkdir -p "$work/small"
  for ((k = 0; k < 60; k++)); do sed -n "$((k * 30 + 1)),$((k * 30 + 30))p" "$work/text/1" >"$work/small/$k"; done
  hdfs_dfs -put -f "$work/small" /
  both small examples wordcount -D mapreduce.job.reduces=20 /small OUT
}
case_classloader() {
  http=all
  sorted classloader -D mapreduce.job.classloader=true
  grep -rq 'Map outputs travel over HTTP' "$YARN"/node*/nodemanager/logs --include syslog
}
case_uber() { http=all; text; both uber examples wordcount -D mapreduce.job.ubertask.enable=true -D mapreduce.job.reduces=1 /text OUT; }
case_unknown_port() { http=some sorted unknown-port -D mapreduce.shuffle.rdma.service.port=7399; }

# service_of HOST: Prints the process id of its node service.
service_of() { processes_of "$YARN" | sed -n "s|^\([0-9]*\) $1/node-service\$|\1|p" | head -n 1; }

# with_fault NAME FUNCTION: Sorts while the function runs, as soon as reducers fetch.
with_fault() {
  local sorting before deadline=$((SECONDS + 120)) status=0
  hdfs_dfs -test -e /tera || job http tera-input examples teragen -D mapreduce.job.maps=12 600000 /tera
  hdfs_dfs -rm -r -f -skipTrash "/out/$1" "/out/$1-report" >/dev/null 2>&1
  before=$(service_bytes)
  (job rdma "$1" examples terasort -D mapreduce.job.reduces=4 -D mapreduce.job.reduce.slowstart.completedmaps=0.1 /tera "/out/$1") &
  sorting=$!
  until [ "$(service_bytes)" -gt "$before" ]; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "no reducer has had anything from a node service"; return 1; }
    sleep 0.2
  done
  "$2"
  wait "$sorting" || status=$?
  [ "$status" = 0 ] || return "$status"
  http=some check_counters "$1"
  job http "$1-judged" examples teravalidate "/out/$1" "/out/$1-report"
  ! hdfs_dfs -cat "/out/$1-report/part-*" 2>/dev/null | grep error
}

kill_on() { kill -KILL "$(service_of "$1")"; }
start_on() {
  local CLUSTER=$YARN deadline=$((SECONDS + 30))
  local -A started
  start_node_service "$1"
  until http_get "$1" 7348 /health | grep -q ok; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "the node service of $1 does not answer after 30 s"; return 1; }
    sleep 0.2
  done
}
kill_node1() { kill_on node1; }
kill_node2() { kill_on node2; }
stop_node2() { kill -STOP "$(service_of node2)"; }
restart_both() { kill_on node1; kill_on node2; sleep 2; start_on node1; start_on node2; }

case_reader_killed() { with_fault reader-killed kill_node1; }
undo_reader_killed() { start_on node1; }
case_owner_killed() { with_fault owner-killed kill_node2; }
undo_owner_killed() { start_on node2; }
case_owner_stopped() { with_fault owner-stopped stop_node2; }
undo_owner_stopped() { kill -CONT "$(service_of node2)"; }
case_restarted() { with_fault restarted restart_both; }

# Prints the process ids of the masters of jobs.
masters() {
  local host pid
  for host in $(mapreduce_hosts); do
    for pid in $(ip netns pids "$(namespace_of "$host")"); do
      if tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q '^[^ ]*java .*MRAppMaster'; then echo "$pid"; fi
    done
  done
}
# shellcheck disable=SC2046
kill_master() { kill -KILL $(masters); }
case_master_killed() { with_fault master-killed kill_master; }

cut_node2() { "$ROOT/bin/hosts" cut node2; sleep 10; "$ROOT/bin/hosts" heal node2; }
case_cut() { with_fault cut cut_node2; }

names=("$@")
[ $# -gt 0 ] || names=("${CASES[@]}")
for name in "${names[@]}"; do
  [ -n "${CLAIMS[$name]:-}" ] || die 2 "unknown case '$name': give some of ${CASES[*]}"
done
need_hosts_tools
make_own work "${TMPDIR:-/tmp}"
need_jdk_and_maven
if [ -z "$(processes_of "$YARN")" ]; then
  trap '"$ROOT/bin/yarn" stop; clean_up' EXIT
  "$ROOT/bin/yarn" start --node-service
fi
failed=0
for name in "${names[@]}"; do
  verdict=PASS start=$SECONDS
  # In a process of its own, as `set -e` has no effect in a condition.
  (set -e; "case_$name") >"$work/case" 2>&1 &
  wait $! || { verdict=FAIL failed=1; }
  cat "$work/case"
  ! declare -F "undo_$name" >/dev/null || "undo_$name" || true
  echo "$verdict $name: ${CLAIMS[$name]} ($((SECONDS - start)) s)"
done
exit "$failed"
