#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe: a small TeraSort of an ordinary user on rxe0, whose executors may lock too little memory
# for a connection, or enough for connections but not for all map outputs, most of which are staged then. The result must
# be right, with TCP where the limit requires it, and the executors' logs must name the limit and the remedy.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
. "$ROOT/bin/lib/spark.sh"
. "$ROOT/bin/lib/rxe/built.sh"
. "$ROOT/bin/lib/rxe/sort.sh"
user=65534 home=/tmp/user failed=0

# open_to_all PATH...: Lets other users enter the folders above each path, which may be closed to all but the user who
# runs bin/rxe. The change affects the guest's overlay only.
open_to_all() {
  local path
  local -A folders
  for path in "$@"; do
    while path=${path%/*} && [ -n "$path" ]; do folders[$path]=1; done
  done
  chmod o+rx "${!folders[@]}"
}

# sort_with KIB: Runs a job whose processes may lock that many KiB. Prints its result line and status; the logs are in
# $SPARK_HOME/work.
sort_with() {
  local status=0
  rm -rf "$home" "$SPARK_HOME/work"
  install -d -o "$user" -g "$user" "$home" "$SPARK_HOME/work"
  prlimit --memlock="$(($1 * 1024))" setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs \
    env HOME="$home" USER=nobody SPARK_LOCAL_IP="$RXE_ADDRESS" SPARK_LOCAL_DIRS="$home/local" "${command[@]}" \
    >"$home/out" 2>"$home/err" || status=$?
  echo "$(grep '^terasort:' "$home/out" || true) status=$status"
}

# check KIB WANTED [TEXT]: The result must match the pattern WANTED, and each executor's log must contain TEXT.
check() {
  local kib=$1 wanted=$2 text=${3:-} logs=$RXE_SHARED/user-$1 result log missing=''
  result=$(sort_with "$kib")
  mkdir -p "$logs"
  cp "$home/out" "$home/err" "$logs/"
  for log in "$SPARK_HOME"/work/app-*/*/stderr; do
    [ ! -e "$log" ] || cp "$log" "$logs/executor-$(basename "$(dirname "$log")")"
    grep -qsF "$text" "$log" || missing="no '$text' in the log of an executor"
  done
  if [[ $result =~ $wanted ]] && [ -z "$missing" ]; then
    echo "PASS a user who may lock $kib KiB: $result"
  else
    echo "FAIL a user who may lock $kib KiB: $result, not $wanted; $missing"
    tail -n 25 "$logs"/* | cut -c 1-300 | sed 's/^/    /'
    failed=1
  fi
}

[ -n "${RXE_GUEST:-}" ] || die 2 "it opens folders to all: run it with bin/rxe run"
need_jdk_and_maven
need_jars
prepare_spark_home
find_examples_jar
sort_command "$home" rxe0 20000 4 2
mapfile -t jars < <(readlink -f "$SPARK_HOME"/jars/* "$SPARK_HOME"/conf/* "$EXAMPLES_JAR" "$PLUGIN_JAR" \
  "$BENCHMARKS_JAR" "$JAVA")
open_to_all "$SPARK_HOME/work" "${jars[@]}"
tcp='valid .* rdma_bytes=0 tcp_bytes=[1-9][0-9]* .* status=1$'
staged='valid .* rdma_bytes=[1-9][0-9]* tcp_bytes=[0-9]* .* status=[01]$'
# shellcheck disable=SC2016
check 32 "$tcp" 'the limit of locked memory is 32 KiB; raise it with `ulimit -l'
# shellcheck disable=SC2016
check 1536 "$staged" 'the limit of locked memory is 1536 KiB; raise it with `ulimit -l'
if ! grep -qs 'read by RDMA over device rxe0' "$RXE_SHARED"/user-1536/executor-*; then
  echo "FAIL rxe0 does not open to a user"
  failed=1
fi
exit "$failed"
