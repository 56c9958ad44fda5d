# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after hosts.sh: the clusters of bin/standalone and bin/yarn. What runs in $CLUSTER/HOST/DAEMON, or below, is the daemon or what
# it has started: that is how its processes are told from others on the hosts.
# shellcheck disable=SC2034

STANDALONE=$ROOT/target/standalone/$HOSTS
YARN=$ROOT/target/yarn/$HOSTS

# processes_of CLUSTER: "PID HOST/DAEMON" for each of its processes. Zombies are in no namespace.
processes_of() {
  local host pid directory
  for host in $(hosts_up); do
    for pid in $(ip netns pids "$(namespace_of "$host")" 2>/dev/null || true); do
      directory=$(readlink "/proc/$pid/cwd" 2>/dev/null || true)
      case $directory in "$1/$host/"*) cut -d / -f 1,2 <<<"$pid ${directory#"$1/"}" ;; esac
    done
  done
}

# begin_cluster HOSTS: an empty $CLUSTER on so many hosts; `stop` ends it if this program ends before it is ready.
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

# start_daemon HOST DAEMON CMD...: in its own folder and its own session.
start_daemon() {
  mkdir -p "$CLUSTER/$1/$2"
  (cd "$CLUSTER/$1/$2" && exec setsid "${@:3}") >"$CLUSTER/logs/$2-$1.log" 2>&1 </dev/null &
  started[$2-$1]=$!
}

# await_cluster READY: until READY says nothing, which is what it still waits for, for 90 s.
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

# end_cluster DAEMON...: ends these, patterns of the shell's, one after the other, and the hosts if the start has made them; by force what
# takes no notice of SIGTERM within ten seconds.
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
  if [ -e "$CLUSTER/made-the-hosts" ]; then "$ROOT/bin/hosts" down; fi
}

status() {
  local processes
  processes=$(processes_of "$CLUSTER")
  [ -n "$processes" ] || { echo "not running"; return 1; }
  cut -d ' ' -f 2 <<<"$processes" | sort -V | uniq -c | awk '{ print $2 ": " $1 " processes" }'
  ready_line
}

# cluster_command COMMAND ARGS...: start, stop, status and help of the program.
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
