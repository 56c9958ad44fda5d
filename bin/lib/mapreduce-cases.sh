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
. "$ROOT/bin/lib/cases.sh"
. "$ROOT/bin/lib/yarn.sh"
. "$ROOT/bin/lib/mapreduce.sh"

CLAIMS=(
  [codec]="compressed map outputs"
  [encrypted]="encrypted map outputs"
  [combine]="a combiner, and map outputs of several spills"
  [streaming]="Hadoop's streaming"
  [small]="60 maps x 20 reduces of small outputs"
  [many]="200 maps x 50 reduces of small outputs"
  [little]="a job of less than mapreduce.shuffle.rdma.min.bytes: what is of other hosts comes by HTTP"
  [skew]="a reducer that has nine tenths of all bytes"
  [secondary]="a secondary sort"
  [speculation]="a map attempt that another one overtakes"
  [one_refused]="one output that the service may not read comes by HTTP, and no other"
  [classloader]="a class loader of the job's own: Hadoop's shuffle, and one line says so"
  [uber]="maps and reduces in one process: Hadoop's shuffle"
  [unknown_port]="no service at the port: HTTP"
  [reader_killed]="the service of a reducer's host is killed while it fetches"
  [owner_killed]="the service of a host with map outputs is killed while they are fetched"
  [owner_stopped]="the service of a host with map outputs stops answering"
  [restarted]="services are killed and started again while reducers fetch"
  [master_killed]="the job's master is killed while reducers fetch"
  [manager_recovers]="the NodeManager of a host with map outputs is killed, and another one goes on with its containers"
  [cut]="the link of a host with map outputs is cut for ten seconds while they are fetched"
)
CASES=(codec encrypted combine streaming small many little skew secondary speculation one_refused classloader uber unknown_port
  reader_killed owner_killed owner_stopped restarted master_killed manager_recovers cut)

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
  [ "${failures:-none}" = some ] || [ "$failed" = 0 ] || { echo "$failed failed shuffles"; return 1; }
  if [ "${failures:-none}" = none ] && grep -E '^\s+(BAD_ID|CONNECTION|IO_ERROR|WRONG_[A-Z]*)=[^0]' "$work/$1.log"; then echo "shuffle errors"; return 1; fi
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
# counted NAME MAPS REDUCES ARGS...: Counts the words of so many small files.
counted() {
  local k
  text
  mkdir -p "$work/$1"
  for ((k = 0; k < $2; k++)); do sed -n "$((k * 30 + 1)),$((k * 30 + 30))p" "$work/text/1" >"$work/$1/$k"; done
  hdfs_dfs -put -f "$work/$1" /
  both "$1" examples wordcount -D "mapreduce.job.reduces=$3" "${@:4}" "/$1" OUT
}
case_small() { counted small 60 20; }
case_many() { counted many 200 50; }
case_little() {
  http=all
  counted little 16 2 -D mapreduce.shuffle.rdma.min.bytes=256m -D mapreduce.job.reduce.slowstart.completedmaps=1
  [ "$(counter_of little-rdma HTTP_SMALL_JOB)" -gt 0 ]
}
case_skew() {
  text
  both skew streaming -D mapreduce.job.reduces=4 -input /text -output OUT -reducer 'sort' \
    -mapper "awk '{ print (NR % 10 ? \"many\" : \$1) \"\\t\" \$0 }'"
}
case_secondary() {
  mkdir -p "$work/pairs"
  awk 'BEGIN { srand(1); for (i = 0; i < 200000; i++) print int(rand() * 1000), int(rand() * 1000000) }' >"$work/pairs/1"
  awk 'BEGIN { srand(2); for (i = 0; i < 200000; i++) print int(rand() * 1000), int(rand() * 1000000) }' >"$work/pairs/2"
  hdfs_dfs -put -f "$work/pairs" /
  both secondary examples secondarysort -D mapreduce.job.reduces=3 /pairs OUT
}
case_speculation() {
  text
  both speculation streaming -D mapreduce.job.reduces=2 -D mapreduce.map.speculative=true -input /text -output OUT -reducer 'uniq -c' \
    -mapper "sh -c 'case \$mapreduce_task_attempt_id in *_m_000001_0) sleep 120 ;; esac; cat'"
  grep -q 'Killed map tasks=[1-9]' "$work/speculation-rdma.log" || { echo "no attempt was overtaken"; return 1; }
}

# link_an_output HOST: As soon as a map of the host is done, its output gets a second name, which services do not read and NodeManagers do.
link_an_output() {
  local deadline=$((SECONDS + 60)) file=''
  until [ -n "$file" ]; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    file=$(find "$YARN/$1"/nodemanager/local/usercache/*/appcache/*/output/*/file.out -newer "$work/linking" 2>/dev/null | head -n 1) || true
    [ -n "$file" ] || sleep 0.05
  done
  ln "$file" "$YARN/$1/linked"
}
case_one_refused() {
  local linking=() http=some host
  text
  touch "$work/linking"
  for host in node1 node2; do # the reducer reads the one of its own host from its file
    rm -f "$YARN/$host/linked"
    link_an_output "$host" &
    linking+=($!)
  done
  hdfs_dfs -rm -r -f -skipTrash /out/one-refused >/dev/null 2>&1
  job rdma one-refused examples wordcount -D mapreduce.job.reduces=1 -D mapreduce.job.reduce.slowstart.completedmaps=1 /text /out/one-refused
  wait "${linking[@]}"
  check_counters one-refused
  [ "$(counter_of one-refused HTTP_STAGING)" = 1 ] && [ "$(counter_of one-refused OUTPUTS)" = 3 ]
}
case_classloader() {
  http=all
  sorted classloader -D mapreduce.job.classloader=true
  grep -rq 'Map outputs travel over HTTP' "$YARN"/node*/nodemanager/logs --include syslog
}
case_uber() { http=all; text; both uber examples wordcount -D mapreduce.job.ubertask.enable=true -D mapreduce.job.reduces=1 /text OUT; }
case_unknown_port() { http=some sorted unknown-port -D mapreduce.shuffle.rdma.service.port=7399; }

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

# restart_manager HOST RECOVERY: Kills the NodeManager and starts it again.
restart_manager() {
  local CLUSTER=$YARN recovery=$2 memory deadline=$((SECONDS + 60)) command
  local -A started
  memory=$(cat "$YARN/memory")
  kill -KILL "$(manager_of "$1")"
  hadoop_command "$1" nodemanager org.apache.hadoop.yarn.server.nodemanager.NodeManager
  start_daemon "$1" nodemanager "${command[@]}"
  until http_get "$1" 8042 /ws/v1/node/info | grep -q '"nodeHealthy":true'; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "the NodeManager of $1 does not answer after 60 s"; return 1; }
    sleep 0.2
  done
}
manager_with_recovery() { restart_manager node2 true; }
case_manager_recovers() {
  manager_with_recovery
  failures=some with_fault manager-recovers manager_with_recovery
  grep -q 'Recovering container_' "$YARN/logs/nodemanager-node2.log" || { echo "the NodeManager has recovered no container"; return 1; }
}
undo_manager_recovers() { restart_manager node2 false; }

cut_node2() { "$ROOT/bin/hosts" cut node2; sleep 10; "$ROOT/bin/hosts" heal node2; }
case_cut() { with_fault cut cut_node2; }

select_cases "$@"
need_hosts_tools
make_own work "${TMPDIR:-/tmp}"
need_jdk_and_maven
if [ -z "$(processes_of "$YARN")" ]; then
  trap '"$ROOT/bin/yarn" stop; clean_up' EXIT
  "$ROOT/bin/yarn" start --node-service
fi
run_cases
