#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe: a TeraSort on rxe0, each executor of which has a control group of its own, with room for about
# half of its map outputs. The rest must be staged, and the driver must say what to set. With that, nothing may be staged.
# In neither run may the kernel end an executor.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
. "$ROOT/bin/lib/spark.sh"
. "$ROOT/bin/lib/rxe/built.sh"
. "$ROOT/bin/lib/rxe/sort.sh"
limit_mib=640 records=800000 work=/tmp/container groups=/sys/fs/cgroup failed=0

# contained_java: Makes $work/java, a JAVA_HOME whose java puts itself into a new control group.
contained_java() {
  mkdir -p "$work/java/bin"
  mountpoint -q "$groups" || mount -t cgroup2 none "$groups"
  echo +memory >"$groups/cgroup.subtree_control"
  cat >"$work/java/bin/java" <<SCRIPT
#!/bin/sh
group=$groups/executor-\$\$
mkdir "\$group" && echo ${limit_mib}M >"\$group/memory.max" && echo \$\$ >"\$group/cgroup.procs" && exec "$JAVA" "\$@"
SCRIPT
  chmod +x "$work/java/bin/java"
}

# run NAME CONF...: Runs the sort. All bytes must come by RDMA.
run() {
  local name=$1 status=0 result killed logs=$RXE_SHARED/container-$1
  shift
  rm -rf "$SPARK_HOME/work" "$work"
  contained_java
  sort_command "$work" rxe0 "$records" 8 8 --conf spark.shuffle.compress=false --conf "spark.executorEnv.JAVA_HOME=$work/java" "$@"
  SPARK_LOCAL_IP=$RXE_ADDRESS SPARK_LOCAL_DIRS=$work/local "${command[@]}" >"$work/out" 2>"$work/err" || status=$?
  mkdir -p "$logs"
  cp -r "$work/out" "$work/err" "$SPARK_HOME/work" "$logs/"
  result=$(grep '^terasort:' "$work/out" || true)
  killed=$(awk '$1 == "oom_kill" { sum += $2 } END { print sum + 0 }' "$groups"/executor-*/memory.events)
  rmdir "$groups"/executor-* || true
  if [[ "$status $killed $result" =~ ^"0 0 terasort: valid ".*" rdma_bytes="[1-9][0-9]*" tcp_bytes=0 " ]]; then
    echo "PASS $name: $result"
  else
    echo "FAIL $name: status $status, $killed killed: $result"
    tail -n 25 "$work/err" | cut -c 1-300 | sed 's/^/    /'
    exit 1
  fi
}

# check TEXT CMD...: Prints PASS or FAIL.
check() { if "${@:2}"; then echo "PASS $1"; else echo "FAIL $1"; failed=1; fi; }

logs() { cat "$SPARK_HOME"/work/app-*/*/stderr; }

# Prints how many lines of the driver say that outputs were staged.
staging() { grep -cE 'shuffle\.rdma\.staged\.bytes=[1-9]' "$work/err" || true; }

[ -n "${RXE_GUEST:-}" ] || die 2 "it makes control groups: run it with bin/rxe run"
need_jdk_and_maven
need_jars
prepare_spark_home
find_examples_jar
run automatic
budget=$(logs | sed -nE "s/.* ([0-9]+) MiB may be registered \\(half of what the container's $limit_mib MiB leave .*/\\1/p" | head -n 1)
more=$(sed -nE 's/.* set spark\.shuffle\.rdma\.maxRegisteredBytes to ([0-9]+)m more than .*/\1/p' "$work/err" | tail -n 1)
check "the budget of ${budget:=0} MiB is half of what the container leaves" [ "$budget" -gt 0 ]
check "the rest was staged" [ "$(staging)" -gt 0 ]
check "the driver advises ${more:=0} MiB more" [ "$more" -gt 0 ]
run advised --conf "spark.shuffle.rdma.maxRegisteredBytes=$((budget + more))m"
check "nothing was staged" [ "$(staging)" = 0 ]
exit "$failed"
