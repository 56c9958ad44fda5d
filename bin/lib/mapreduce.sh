# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after yarn.sh: TeraSort by Hadoop's own programs on the cluster of bin/yarn. The witnesses of what shuffled are
# the job's counters, the NodeManagers' and the node services' own, and the links of the hosts. The variables records, maps, reduces, data and conf are the caller's.
# shellcheck disable=SC2016,SC2154

# mapreduce_hosts: Prints the hosts with a NodeManager.
mapreduce_hosts() { local k; for ((k = 1; k <= $(cat "$YARN/nodes"); k++)); do echo "node$k"; done; }

# sum_over_hosts PORT PATH AWK: Prints the sum of what AWK prints of that page of each of these hosts.
sum_over_hosts() {
  local host
  for host in $(mapreduce_hosts); do http_get "$host" "$1" "$2" | awk "$3"; done | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# Prints how many bytes NodeManagers have sent to reducers.
http_bytes_sent() {
  sum_over_hosts 8042 '/jmx?qry=Hadoop:service=NodeManager,name=ShuffleMetrics' '/"ShuffleOutputBytes"/ { print $3 + 0 }'
}

# Prints how many bytes reducers have had from the node services of their hosts.
service_bytes() { sum_over_hosts 7348 /metrics '/^shuffle_rdma_node_service_reducer_bytes_total / { print $2 }'; }

# service_of HOST: Prints the process id of its node service.
service_of() { processes_of "$YARN" | sed -n "s|^\([0-9]*\) $1/node-service\$|\1|p" | head -n 1; }

# manager_of HOST: Prints the process id of its NodeManager, whose containers run in folders below its own.
manager_of() {
  local pid
  for pid in $(ip netns pids "$(namespace_of "$1")"); do
    if [ "$(readlink "/proc/$pid/cwd")" = "$YARN/$1/nodemanager" ]; then echo "$pid"; fi
  done
}

# cpu_of FILE...: Prints the CPU seconds of these processes or threads, of whose stat files the name may have spaces.
cpu_of() { cat /dev/null "$@" 2>/dev/null | sed 's/^.*) //' | awk -v hz="$(getconf CLK_TCK)" '{ sum += $12 + $13 } END { printf "%.2f", sum / hz }'; }

# daemons_cpu: Prints the CPU seconds of all NodeManagers, those of their threads that send map outputs, and those of the node services.
daemons_cpu() {
  local host pid managers=() senders=() services=() stat
  for host in $(mapreduce_hosts); do
    for pid in $(manager_of "$host"); do
      managers+=("/proc/$pid/stat")
      for stat in "/proc/$pid/task"/*/stat; do
        if grep -q '(ShuffleHandler' "$stat" 2>/dev/null; then senders+=("$stat"); fi
      done
    done
    for pid in $(service_of "$host"); do services+=("/proc/$pid/stat"); done
  done
  echo "$(cpu_of "${managers[@]}") $(cpu_of "${senders[@]}") $(cpu_of "${services[@]}")"
}

# run_tera KIND PROGRAM ARGS...: Runs one of Hadoop's programs, whose log is then $work/PROGRAM.log.
run_tera() {
  local log=$work/$2.log
  run_job mapred_job "$1" examples "${@:2}" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die 1 "$2 failed; its log is above"; }
}

# counter_of LOG NAME: Prints the value of a job's counter; 0 if the job has none of that name.
counter_of() { awk -F = -v name="$2" '{ sub(/^[ \t]+/, "", $1) } $1 == name { value = $2 } END { print value == "" ? 0 : value }' "$work/$1.log"; }

# sort_by_mapreduce KIND: Sorts $data/input to $data/output, has TeraValidate judge it, and prints the result. Sets last_seconds and last_cpu,
# which is what daemons_cpu has grown by, in three lines.
sort_by_mapreduce() {
  local kind=$1 received before_http before_service http service seconds start checksum status=0 before_cpu
  local rdma local_bytes shuffled read=$((records * 100))
  hdfs_dfs -rm -r -f -skipTrash "$data/output" "$data/report" >/dev/null 2>&1 || true
  before_http=$(http_bytes_sent) before_service=$(service_bytes)
  # shellcheck disable=SC2046
  received=$(received_bytes $(mapreduce_hosts))
  before_cpu=$(daemons_cpu)
  start=$EPOCHREALTIME
  run_tera "$kind" terasort -D "mapreduce.job.reduces=$reduces" "${conf[@]/#--conf/-D}" "$data/input" "$data/output"
  seconds=$(awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }')
  last_cpu=$(paste -d ' ' <(tr ' ' '\n' <<<"$before_cpu") <(daemons_cpu | tr ' ' '\n') | awk '{ printf "%.2f\n", $2 - $1 }')
  # shellcheck disable=SC2046
  received=$(($(received_bytes $(mapreduce_hosts)) - received))
  http=$(($(http_bytes_sent) - before_http)) service=$(($(service_bytes) - before_service))
  rdma=$(counter_of terasort BYTES) local_bytes=$(counter_of terasort LOCAL_BYTES)
  shuffled=$(counter_of terasort 'Reduce shuffle bytes')
  run_tera "$kind" teravalidate "$data/output" "$data/report"
  # Its exit status says nothing: what is wrong is in its output.
  hdfs_dfs -cat "$data/report/part-*" >"$work/report" 2>/dev/null
  checksum=$(awk '$1 == "checksum" { print $2 }' "$work/report")
  if grep -q error "$work/report" || [ "$checksum" != "$input_checksum" ]; then
    cat "$work/report" >&2
    say "the output is not the sorted input: its checksum is $checksum, and the input's $input_checksum"
    status=1
  fi
  say "the links of the hosts have received $received bytes; NodeManagers have sent $http, and node services have given $service to reducers"
  say "CPU seconds of NodeManagers, of their threads that send, and of node services: ${last_cpu//$'\n'/, }"
  if [ "$kind" = rdma ]; then
    [ "$((rdma + local_bytes))" = "$shuffled" ] || { say "$rdma bytes by RDMA and $local_bytes from own files are not the $shuffled of the shuffle"; status=1; }
    [ "$service" = "$rdma" ] || { say "node services have given $service bytes to reducers, which count $rdma"; status=1; }
    [ "$http" = 0 ] || { say "NodeManagers have sent $http bytes to reducers"; status=1; }
    [ "$received" -ge $((rdma + read)) ] || { say "the $rdma bytes by RDMA have not crossed the links"; status=1; }
  fi
  echo "terasort: $([ "$status" = 0 ] && echo valid || echo WRONG) records=$records bytes=$shuffled checksum=$checksum rdma_bytes=$rdma http_bytes=$http local_bytes=$local_bytes seconds=$seconds"
  last_seconds=$seconds
  return "$status"
}

# make_input: Makes $data/input of $records records in $maps files, and sets input_checksum.
make_input() {
  say "making $records records in $maps files"
  hdfs_dfs -rm -r -f -skipTrash "$data" >/dev/null 2>&1 || true
  run_tera http teragen -D "mapreduce.job.maps=$maps" "$records" "$data/input"
  input_checksum=$(printf %x "$(counter_of teragen CHECKSUM)")
}

# run_mapreduce: Makes the input and sorts it with each shuffle.
run_mapreduce() {
  local work kind last_seconds='' last_cpu='' input_checksum own_seconds='' status=0
  need_hosts_tools "--framework mapreduce"
  need_yarn
  [ -e "$YARN/node-service" ] || [ "$shuffle" = sort ] || die 2 "--framework mapreduce needs node services: bin/yarn start --node-service, or --shuffle sort"
  build_jars mapreduce-rdma
  make_own work "$dir"
  make_input
  for kind in http rdma; do
    case $shuffle:$kind in both:* | sort:http | rdma:rdma) sort_by_mapreduce "$kind" || status=1 ;; *) continue ;; esac
    [ "$kind" = rdma ] || own_seconds=$last_seconds
  done
  [ "$shuffle" != both ] || say "Hadoop's own shuffle $own_seconds s, RDMA $last_seconds s"
  return "$status"
}
