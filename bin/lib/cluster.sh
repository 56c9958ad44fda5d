# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after hosts.sh: the clusters of bin/standalone and bin/yarn. A daemon and the processes that it starts have
# their working directory in $CLUSTER/HOST/DAEMON or below, which tells them from other processes on the hosts.
# shellcheck disable=SC2034

STANDALONE=$ROOT/target/standalone/$HOSTS
YARN=$ROOT/target/yarn/$HOSTS

# processes_of CLUSTER: Prints "PID HOST/DAEMON" for each of its processes. Zombies are in no namespace.
processes_of() {
  local host pid directory
  for host in $(hosts_up); do
    for pid in $(ip netns pids "$(namespace_of "$host")" 2>/dev/null || true); do
      directory=$(readlink "/proc/$pid/cwd" 2>/dev/null || true)
      case $directory in "$1/$host/"*) cut -d / -f 1,2 <<<"$pid ${directory#"$1/"}" ;; esac
    done
  done
}

# begin_cluster HOSTS: Makes an empty $CLUSTER on that many hosts. If this program ends before the cluster is ready,
# `stop` ends it.
begin_cluster() {
  local there
  there=$(hosts_up | wc -l)
  rm -rf "$CLUSTER"
  mkdir -p "$CLUSTER/logs"
  [ "$there" -ge "$1" ] || "$ROOT/bin/hosts" up "$1"
  [ "$there" -gt 0 ] || touch "$CLUSTER/made-the-hosts"
  declare -gA started=()
  trap 'say "the cluster has not started; the logs are in $CLUSTER/logs"; stop' EXIT
}

# start_daemon HOST DAEMON CMD...: Starts CMD in its own folder and its own session.
start_daemon() {
  mkdir -p "$CLUSTER/$1/$2"
  (cd "$CLUSTER/$1/$2" && exec setsid "${@:3}") >"$CLUSTER/logs/$2-$1.log" 2>&1 </dev/null &
  started[$2-$1]=$!
}

# start_node_service HOST: The hosts share a file system and memory, so each service has a socket and a folder of shared memory of
# its own. What they need to READ from one another over the software device, they have from bin/hosts.
start_node_service() {
  mkdir -p "$CLUSTER/$1"
  printf '%s\n' "service.socket=$HOSTS_STATE/service-$1.sock" "service.grants=$CLUSTER/$1/grants" "service.host=$1" \
    "service.yarnLocalDirs=$CLUSTER/$1/nodemanager/local" "service.sharedMemory=/dev/shm/shuffle-rdma.$HOSTS.$1" \
    rdma.device=soft >"$CLUSTER/$1/node-service.conf"
  start_daemon "$1" node-service "$ROOT/bin/hosts" on "$1" "$JAVA" -Xmx256m -XX:+UseSerialGC \
    -XX:TieredStopAtLevel=1 -jar "$NODE_SERVICE_JAR" "$CLUSTER/$1/node-service.conf"
}

# await_cluster READY: Waits up to 90 s until READY, which prints what is still missing, prints nothing.
await_cluster() {
  local deadline=$((SECONDS + 90)) name missing
  while missing=$("$1") && [ -n "$missing" ]; do
    for name in "${!started[@]}"; do
      kill -0 "${started[$name]}" 2>/dev/null || { tail -n 20 "$CLUSTER/logs/$name.log" >&2; die 1 "$name has ended"; }
    done
    [ "$SECONDS" -lt "$deadline" ] || die 1 "after 90 s $missing"
    sleep 0.2
  done
  trap - EXIT
}

# end_cluster DAEMON...: Ends the daemons that match these regular expressions, one after the other, and the hosts if
# the start has made them. Kills by force what ignores SIGTERM for ten seconds.
end_cluster() {
  local daemon killed signal pids
  for daemon in "$@"; do
    killed=$((SECONDS + 10)) signal=TERM
    while pids=$(processes_of "$CLUSTER" | sed -n "s|^\([0-9]*\) node[0-9]*/$daemon\$|\1|p") && [ -n "$pids" ]; do
      # shellcheck disable=SC2086
      kill -s "$signal" $pids 2>/dev/null || true
      [ "$SECONDS" -lt $((killed + 10)) ] || die 1 "these processes still run and cannot be killed: ${pids//$'\n'/ }"
      if [ "$SECONDS" -lt "$killed" ]; then signal=0; else signal=KILL; fi
      sleep 0.1
    done
  done
  rm -rf "/dev/shm/shuffle-rdma.$HOSTS."*
  if [ -e "$CLUSTER/made-the-hosts" ]; then "$ROOT/bin/hosts" down; fi
}

# drive_from HOST: Prepares for a driver that submit_command runs on a host of the standalone cluster. Sets SUBMIT_HOST
# and DRIVER_CONF.
drive_from() {
  SUBMIT_HOST=$1
  export SPARK_LOCAL_HOSTNAME=$1 SPARK_LOCAL_DIRS=$STANDALONE/local/$1
  DRIVER_CONF=(--conf "spark.driver.host=$1" --conf "spark.driver.bindAddress=$1"
    --conf spark.shuffle.reduceLocality.enabled=false) # or all reducers wait for the host that holds a little more
}

status() {
  local processes
  processes=$(processes_of "$CLUSTER")
  [ -n "$processes" ] || { echo "not running"; return 1; }
  cut -d ' ' -f 2 <<<"$processes" | sort -V | uniq -c | awk '{ print $2 ": " $1 " processes" }'
  ready_line
}

# cluster_command COMMAND ARGS...: Implements start, stop, status and help of the program.
cluster_command() {
  local command=${1:-}
  case $command in
    -h | --help | help) usage ;;
    start)
      parse_start "${@:2}"
      need_hosts_tools "$@"
      [ -z "$(processes_of "$CLUSTER")" ] || die 2 "the cluster runs already: see bin/$PROGRAM status, or run bin/$PROGRAM stop first"
      start ;;
    stop | status)
      [ $# = 1 ] || die 2 "$command takes no arguments; see bin/$PROGRAM --help"
      need_hosts_tools "$command"
      "$command" ;;
    '') usage >&2; exit 2 ;;
    *) die 2 "unknown command '$command'; bin/$PROGRAM --help lists them" ;;
  esac
}
