#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the programs of bin/ where they are not at home: in a path with spaces, in folders that hold a user's files, as another user,
# in checkouts that root has used or that are read-only, twice at a time, and until a signal. Each case is a function that has a copy
# of the checkout to itself. It prints PASS, FAIL or SKIP with the claim. Cases of the names that are given run, or all.
# shellcheck disable=SC2317 # cases are called by their names
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/common.sh"

# The claims, by the names of the cases.
declare -A CLAIMS=(
  [sort]="bin/terasort sorts in paths with spaces, and keeps the files of the user in --dir"
  [interrupted_sort]="ctrl-C ends bin/terasort with its processes, and leaves none of its files but input and output"
  [ended_campaign]="SIGTERM ends bin/faults with its processes, and files of the user in --dir stay"
  [two_sorts]="a second bin/terasort with the same --dir refuses"
  [natives]="the native libraries are built in a path with spaces"
  [log_of_root]="after root has used the checkout, its owner is told which file is whose, and gets no old jar"
  [log_in_own_folder]="a log of root in a folder of the owner does not keep the owner from building"
  [full_disk]="a log that cannot be written to its end ends the program"
  [locked]="bin/softverbs does not build while another program does"
  [unbuilt]="bin/softverbs in an unbuilt read-only checkout refuses, and does not use the libraries of the system"
  [foreign_test]="bin/test in the checkout of another user ends with status 2 and the remedy"
  [two_tests]="a second bin/test in the same checkout refuses"
  [options]="an option that is cut short is unknown, and a wrong value is refused"
  [resume]="bin/test --all --resume sums up what has passed before"
)
# The longest first.
CASES=(sort interrupted_sort ended_campaign two_sorts natives log_of_root log_in_own_folder full_disk locked unbuilt foreign_test
  two_tests options resume)
LIMIT=240
STRANGER=nobody

# Prints why a case fails, and ends it.
fail() { printf '%s\n' "$*"; exit 1; }

skip() { printf '%s\n' "$*"; exit 77; }

# copy [BUILT...]: Copies the checkout, and these of its folders that git ignores, to $copy.
copy() {
  mkdir -p "$copy"
  (cd "$ROOT" && git ls-files -zco --exclude-standard | xargs -0 cp -p --parents -t "$copy")
  [ $# = 0 ] || (cd "$ROOT" && cp -a --parents -t "$copy" "$@")
}

# copy_built MODULE...: Copies the checkout with its natives and these modules, which must have been built.
copy_built() {
  local module natives
  for module in "$@"; do
    [ -f "$ROOT/$module/target/package.stamp" ] || skip "the jars of $module are not built"
  done
  # Without the inputs of the fuzzers, which may be at work.
  mapfile -d '' natives < <(cd "$ROOT" && find native-verbs/target -mindepth 1 -maxdepth 1 ! -name fuzz -print0)
  copy "${natives[@]}" {rdma-transport,hardware,shuffle-rdma}/target "${@/%//target}"
}

need_root() { [ "$(id -u)" = 0 ] || skip "only root can run programs as other users"; }

# by_stranger CMD...: Runs CMD as another user.
by_stranger() { setpriv --reuid "$STRANGER" --regid nogroup --clear-groups env HOME="$work/home" "$@"; }

# expect STATUS TEXT CMD...: CMD must end with the status, and print a line that matches the text.
expect() {
  local status=0
  "${@:3}" >"$work/output" 2>&1 </dev/null || status=$?
  [ "$status" = "$1" ] || fail "status $status instead of $1: $(tail -n 5 "$work/output")"
  grep -qE "$2" "$work/output" || fail "nothing says '$2': $(tail -n 5 "$work/output")"
}

# await SECONDS CMD...: Waits until CMD succeeds.
await() {
  local deadline=$((SECONDS + $1))
  until "${@:2}"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "not within $1 s: ${*:2}"
    sleep 0.1
  done
}

some() { compgen -G "$1" >/dev/null; }
gone() { ! kill -0 -- "$1" 2>/dev/null; }

# users_files DIR NAME...: Makes folders of a user in DIR.
users_files() {
  local name
  for name in "${@:2}"; do
    mkdir -p "$1/$name"
    echo precious >"$1/$name/file"
  done
}

# kept DIR NAME...: Requires what users_files has made, and nothing else but `input` and `output`.
kept() {
  local found
  found=$(cd "$1" && find . -mindepth 1 -maxdepth 1 ! -name .terasort ! -name input ! -name output -printf '%f ' | tr ' ' '\n' | sort | xargs)
  [ "$found" = "$(printf '%s\n' "${@:2}" | sort | xargs)" ] || fail "in --dir are: $found"
  [ "$(cat "$1"/*/file | sort -u)" = precious ] || fail "files of the user in --dir are gone"
}

# in_session CMD...: Starts CMD in a process group of its own, whose number is then in `job`, with SIGINT as at a terminal.
in_session() {
  set -m
  "$@" >"$work/output" 2>&1 </dev/null &
  set +m
  job=$!
}

SORT=(bin/terasort --size 100k --maps 2 --reduces 2)

case_sort() {
  local dir=$work/'my files'
  copy_built benchmarks
  users_files "$dir" shuffle hadoop scratch local
  expect 0 '^terasort: valid ' "$copy/${SORT[0]}" "${SORT[@]:1}" --dir "$dir"
  kept "$dir" shuffle hadoop scratch local
  rm -r "$dir/.terasort" # as if the output were another program's
  expect 1 'output was not made by a sort: move it' "$copy/${SORT[0]}" "${SORT[@]:1}" --dir "$dir"
  [ -e "$dir/output/_SUCCESS" ] || fail "an output that no sort has made is gone"
}

case_interrupted_sort() {
  local dir=$work/dir
  copy_built benchmarks
  users_files "$dir" shuffle hadoop
  in_session "$copy/${SORT[0]}" "${SORT[@]:1}" --size 20m --dir "$dir"
  await 120 some "$dir/terasort.*/shuffle/*"
  kill -INT -- "-$job"
  await 60 gone "-$job"
  kept "$dir" shuffle hadoop
  ! pgrep -f "$work/" >/dev/null || fail "processes are left: $(pgrep -af "$work/")"
  ! some "$TMPDIR/terasort.*" || fail "files are left in $TMPDIR"
}

case_ended_campaign() {
  local dir=$work/dir
  copy_built benchmarks node-service
  users_files "$dir" local hadoop terasort
  in_session "$copy/bin/faults" --kind leak --count 25 --dir "$dir"
  await 120 some "$dir/faults.*/local/*"
  kill -TERM "$job"
  await 60 gone "-$job"
  ! pgrep -f "$work/" >/dev/null || fail "processes are left: $(pgrep -af "$work/")"
  ! some "$dir/faults.*/local" || fail "files of shuffles are left"
  rm -r "$dir"/faults.* # its log
  kept "$dir" local hadoop terasort
  ! some "$TMPDIR/faults.*" || fail "files are left in $TMPDIR"
}

case_two_sorts() {
  local fd
  copy
  mkdir "$work/dir"
  exec {fd}<"$work/dir"
  flock "$fd"
  expect 2 "another bin/terasort sorts in $work/dir: " "$copy/${SORT[0]}" "${SORT[@]:1}" --dir "$work/dir"
}

case_natives() {
  copy
  expect 0 '' make -C "$copy/native-verbs" target/lib/libdisni.so
}

# A checkout of the stranger with a build that is older than its sources, and a mvn that tells whether it was called.
stale_checkout() {
  need_root
  copy native-verbs/target
  mkdir -p "$copy"/{benchmarks,shuffle-rdma}/target "$copy/target/logs" "$work/fake"
  touch "$copy/${PLUGIN_JAR#"$ROOT"}"
  touch -d 2020-01-01 "$copy/benchmarks/target/package.stamp"
  printf '#!/bin/sh\ntouch "%s/called"\nexit 1\n' "$work/fake" >"$work/fake/mvn"
  chmod 755 "$work/fake/mvn"
  chown -R "$STRANGER" "$copy" "$work/fake"
}

sort_as_stranger() { expect "$1" "$2" by_stranger env PATH="$work/fake:$PATH" "$copy/bin/terasort" --dir "$copy/target/sorted"; }

case_log_of_root() {
  stale_checkout
  touch "$copy/target/logs/make-all.log"
  chown -R root "$copy/target/logs"
  sort_as_stranger 2 "cannot write $copy/target/logs/make-all.log \(Permission denied\): .* belongs to root: sudo chown -R $STRANGER $copy"
  [ ! "$copy/benchmarks/target/package.stamp" -nt "$copy/pom.xml" ] || fail "what was not built counts as built"
}

case_log_in_own_folder() {
  stale_checkout
  for log in make-all mvn-benchmarks; do
    touch "$copy/target/logs/$log.log"
    chown root "$copy/target/logs/$log.log"
  done
  sort_as_stranger 1 'mvn-benchmarks failed'
  [ -e "$work/fake/called" ] || fail "nothing was built"
  [ ! "$copy/benchmarks/target/package.stamp" -nt "$copy/pom.xml" ] || fail "what was not built counts as built"
}

case_full_disk() {
  copy
  mkdir -p "$copy/target/logs"
  ln -s /dev/full "$copy/target/logs/some.log"
  # shellcheck disable=SC2016 # the inner shell's
  expect 2 "cannot write $copy/target/logs/some.log \(No space left on device\)" \
    bash -c '. "$0/bin/lib/common.sh"; run_logged some true; echo went on' "$copy"
}

case_locked() {
  local fd
  copy
  mkdir "$copy/target"
  exec {fd}<"$copy/target"
  flock "$fd"
  in_session "$copy/bin/softverbs" true
  await 20 grep -q 'waiting for another program' "$work/output"
  kill "$job"
  [ ! -e "$copy/native-verbs/target" ] || fail "it builds"
}

case_unbuilt() {
  need_root
  copy
  expect 2 "cannot write $copy.*: clone the repository where $STRANGER may write" by_stranger "$copy/bin/softverbs" touch "$work/home/ran"
  [ ! -e "$work/home/ran" ] || fail "it has run the program"
}

case_foreign_test() {
  need_root
  copy
  expect 2 "$copy belongs to root: clone the repository where $STRANGER may write" by_stranger "$copy/bin/test" format
}

case_two_tests() {
  local fd
  copy
  mkdir -p "$copy/target/logs"
  exec {fd}<"$copy/target/logs"
  flock "$fd"
  expect 2 "another bin/test runs in $copy: wait for its end" "$copy/bin/test" format
}

case_options() {
  copy
  expect 2 "unknown option '--orphan'" "$copy/bin/terasort" --orphan
  expect 2 "unknown option '--lis'" "$copy/bin/test" --lis
  expect 2 "unknown option '--'" "$copy/bin/test" -- format
  expect 2 "kind leek: give faults" "$copy/bin/faults" --kind leek
}

case_resume() {
  copy_built
  mkdir -p "$copy/target/passed"
  echo "format         3 passed   0 failed   1 skipped     5 s    4 CPU-s  on 0123abcd" >"$copy/target/passed/format"
  expect 0 '^3 passed, 0 failed, 1 skipped$' "$copy/bin/test" --all --resume format
}

# run_case NAME: Runs the case in a process and a folder of its own, and prints its line.
run_case() {
  local status=0 reason
  export TMPDIR=$scratch/$1/tmp
  mkdir -p "$TMPDIR" "$scratch/$1/home"
  chmod 755 "$scratch" "$scratch/$1"
  chmod 777 "$scratch/$1/home" "$TMPDIR"
  run_job timeout -k 60 "$LIMIT" "$0" --inside "$1" "$scratch/$1" >"$scratch/$1/report" 2>&1 || status=$?
  reason=$(cat "$scratch/$1/report")
  case $status in
    0) echo "PASS ${CLAIMS[$1]}" ;;
    77) echo "SKIP ${CLAIMS[$1]}: $reason" ;;
    *) printf 'FAIL %s\n    %s: status %s: %s\n' "${CLAIMS[$1]}" "$1" "$status" "$reason"; failed=1 ;;
  esac
  rm -rf "${scratch:?}/$1"
}

if [ "${1:-}" = --inside ]; then
  work=$3 copy="$3/a checkout"
  clean_up_at_end
  # JVMs here live for seconds.
  export JAVA_TOOL_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
  unset SPARK_HOME SPARK_LOCAL_DIRS
  "case_$2"
  exit
fi
[ $# = 0 ] || CASES=("$@")
failed=0 scratch=''
make_own scratch "${TMPDIR:-/tmp}"
for name in "${CASES[@]}"; do run_case "$name"; done
exit $failed
