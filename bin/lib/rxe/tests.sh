# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by bin/rxe: `bin/rxe test`, the plugin's tests in guests.

RXE_TESTS=$ROOT/bin/lib/rxe

# The packages that do without Spark, and the classes of theirs that take long, for --all: JVMs start slowly here.
RXE_PACKAGES_UNDER_TEST="verbs connection mapoutput fetch plugin memory"
RXE_LONG_TESTS='.*\.(PeerProcess|DeviceChoice|BufferPool)Test'

# part NAME ARGS...: bin/rxe with ARGS, and the tests that its reports count.
# shellcheck disable=SC2154
part() {
  local name=$1 status=0 start=$SECONDS log=$test_logs/$1 report p=0 f=0 s=0
  shift
  "$ROOT/bin/rxe" --logs "$log" --timeout "$limit" "$@" >"$log.log" 2>&1 </dev/null &
  pids=($!)
  wait "${pids[0]}" || status=$?
  pids=()
  report=$log/shared/reports/TEST-junit-jupiter.xml
  if [ -s "$report" ]; then
    read -r p f s < <(sed -n '/<testsuite /{p;q}' "$report" | awk '
      function attribute(name) {
        match($0, " " name "=\"[0-9]+\"")
        return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) + 0
      }
      {
        bad = attribute("failures") + attribute("errors")
        print attribute("tests") - bad - attribute("skipped"), bad, attribute("skipped")
      }')
    sed -n 's/^<skipped><!\[CDATA\[\(parent was skipped: \|org.opentest4j.TestAbortedException: \)*\(.*\)/\2/p' "$report" |
      sed 's/\]\]>.*//' | sort | uniq -c | sed "s/^ */left out: $name: /"
  fi
  if [ "$status" != 0 ]; then
    grep -aE -A4 ':: FAILED|^rxe: |fatal error|^    ' "$log.log" | head -n 60 || tail -n 20 "$log.log"
    echo "$name: status $status, see $log.log and $log"
    [ "$f" != 0 ] || f=1
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  printf '%-22s %4d passed %3d failed %3d skipped  %4d s\n' "$name" "$p" "$f" "$s" $((SECONDS - start))
}

build_tests() {
  local stamp=$ROOT/target/built-tests
  need_jdk_and_maven
  need_build_packages
  run_logged make-all make -s -C "$ROOT/native-verbs" all || exit 1
  if [ ! -e "$stamp" ] || [ -n "$(newer_than "$stamp")" ]; then
    say "building the tests"
    run_logged mvn-test-compile mvn -B -ntp -Dlenient -pl shuffle-rdma test-compile || exit 1
    touch "$stamp"
  fi
}

command_test() {
  local packages=() name kernels=("$kernel") test_logs passed=0 failed=0 skipped=0 all=no
  case ${1:-} in
    '') ;;
    --all) all=yes kernels=(6.1 6.12) ;;
    *) die 2 "unknown option '$1'; bin/rxe --help lists the options" ;;
  esac
  build_tests
  test_logs=$ROOT/target/rxe/test-$(date +%Y%m%d-%H%M%S)-$$
  mkdir -p "$test_logs"
  for name in $RXE_PACKAGES_UNDER_TEST; do packages+=(-p "org.shufflerdma.$name"); done
  for name in "${kernels[@]}"; do
    if [ "$all" = yes ]; then
      part "$name-tests" --kernel "$name" --memory 6G run "$RXE_TESTS/junit.sh" "${packages[@]}"
      part "$name-with-spark" --kernel "$name" --memory 6G run env WITH_SPARK=yes "$RXE_TESTS/junit.sh" -p org.shufflerdma.reader
      part "$name-filesystems" --kernel "$name" run "$RXE_TESTS/filesystems.sh"
      part "$name-two-hosts" --kernel "$name" --memory 1G pair "$RXE_TESTS/two_hosts.sh" "$RXE_TESTS/two_hosts.sh"
    else
      part "$name-tests" --kernel "$name" run "$RXE_TESTS/junit.sh" "${packages[@]}" -N "$RXE_LONG_TESTS"
    fi
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
}
