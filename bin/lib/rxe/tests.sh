# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by bin/rxe: `bin/rxe test`, the plugin's tests in guests.
# shellcheck disable=SC2154 # options are bin/rxe's

RXE_TESTS=$ROOT/bin/lib/rxe

# The packages that do without Spark, and the classes of theirs that take long, for --all: JVMs start slowly here.
RXE_PACKAGES_UNDER_TEST="verbs connection mapoutput fetch device memory"
RXE_LONG_TESTS='.*\.(PeerProcess|DeviceChoice|BufferPool)Test'

# part NAME ARGS...: bin/rxe with ARGS, and the tests that its reports and its lines PASS, FAIL and SKIP count.
part() {
  local name=$1
  shift
  run_part "$name" "$ROOT/bin/rxe" --logs "$test_logs/$name" --timeout "$limit" "$@"
}

# run_here NAME SECONDS CMD...: CMD here, ended after that long.
run_here() { run_part "$1" timeout -k 10 "${@:2}"; }

# run_part NAME CMD...: CMD, which ends with this shell, however that ends.
run_part() {
  local name=$1 status=0 start=$SECONDS log=$test_logs/$1 report sums p f s
  local not_reason='\(parent was skipped: \|org.opentest4j.TestAbortedException: \)*'
  shift
  setpriv --pdeathsig TERM "$@" >"$log.log" 2>&1 </dev/null &
  pids=($!)
  wait "${pids[0]}" || status=$?
  pids=()
  read -r p f s < <(sed -nE 's/^(\[[12]\] )?(PASS|FAIL|SKIP) .*/\2/p' "$log.log" |
    awk '{ n[$1]++ } END { print n["PASS"] + 0, n["FAIL"] + 0, n["SKIP"] + 0 }')
  sed -nE "s/^(\\[[12]\\] )?SKIP /left out: $name: /p" "$log.log"
  for report in "$log"/shared/reports*/TEST-*.xml; do
    [ -s "$report" ] || continue
    mapfile -t sums < <(junit_sums "$report")
    p=$((p + sums[0])) f=$((f + sums[1])) s=$((s + sums[2]))
    sed -n "s/^<skipped><!\[CDATA\[$not_reason\(.*\)/\2/p" "$report" | sed 's/\]\]>.*//' | sort | uniq -c |
      sed "s/^ */left out: $name: /"
  done
  if [ "$status,$p,$f" = 0,0,0 ] && [ "$name" != prepare ]; then
    echo "FAIL no test ran in $name" >>"$log.log"
    status=1
  fi
  if [ "$status" != 0 ]; then
    grep -aE -A4 ':: FAILED|^(\[[12]\] )?FAIL |^rxe: |fatal error|^    ' "$log.log" | head -n 60 ||
      tail -n 20 "$log.log"
    echo "$name: status $status, see $log.log and $log"
    [ "$f" != 0 ] || f=1
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  rows+=("$(printf '%-22s %4d passed %3d failed %3d skipped  %4d s' "$name" "$p" "$f" "$s" $((SECONDS - start)))")
  echo "${rows[-1]}"
}

# junit_sums REPORT: how many tests passed, failed and were skipped, a line each.
junit_sums() {
  sed -n '/<testsuite /{p;q}' "$1" | awk '
    function attribute(name) {
      match($0, " " name "=\"[0-9]+\"")
      return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) + 0
    }
    {
      bad = attribute("failures") + attribute("errors")
      print attribute("tests") - bad - attribute("skipped") "\n" bad "\n" attribute("skipped")
    }'
}

# build_tests [TARGET]: what the parts need, and a target of native-verbs/Makefile.
build_tests() {
  local stamp=$ROOT/target/built-tests
  need_jdk_and_maven
  need_build_packages
  run_logged make-all make -s -j "$(nproc)" -C "$ROOT/native-verbs" all "$@" || exit 1
  if [ ! -e "$stamp" ] || [ -n "$(newer_than "$stamp")" ]; then
    say "building the tests"
    run_logged mvn-test-compile mvn -B -ntp -Dlenient -pl shuffle-rdma -am test-compile || exit 1
    touch "$stamp"
  fi
}

# The plugin's tests: `short` leaves out those that take long.
junit_part() {
  local line=$1 packages=() name
  for name in $RXE_PACKAGES_UNDER_TEST; do packages+=(-p "org.shufflerdma.$name"); done
  if [ "${2:-}" = short ]; then
    part "$line-tests" --kernel "$line" run "$RXE_TESTS/junit.sh" "${packages[@]}" -N "$RXE_LONG_TESTS"
  else
    part "$line-tests" --kernel "$line" --memory 6G run "$RXE_TESTS/junit.sh" "${packages[@]}"
  fi
}

# What differs between kernels is tested on each of RXE_LINES, the rest on the first.
all_parts() {
  local line name first=${RXE_LINES[0]}
  run_here prepare 1800 "$RXE_TESTS/prepare_cluster.sh" # the jars and the Spark home of other parts, too
  junit_part "$first"
  part "$first-with-spark" --memory 6G run env MODULE=shuffle-rdma "$RXE_TESTS/junit.sh" -p org.shufflerdma.reader
  part "$first-programs" --memory 1G pair "$RXE_TESTS/programs.sh" "$RXE_TESTS/programs.sh"
  part "$first-memlock" --memory 6G run "$RXE_TESTS/memlock.sh"
  for line in "${RXE_LINES[@]:1}"; do junit_part "$line" short; done
  for line in "${RXE_LINES[@]}"; do
    # docs/rxe-differences.md is about these
    case $line in 6.1 | 6.12) part "$line-native" --kernel "$line" run "$RXE_TESTS/native.sh" ;; esac
    part "$line-filesystems" --kernel "$line" run "$RXE_TESTS/filesystems.sh"
    part "$line-hardware" --kernel "$line" --memory 3G run "$RXE_TESTS/verify_hardware.sh"
    part "$line-two-hosts" --kernel "$line" --memory 1G pair "$RXE_TESTS/two_hosts.sh" "$RXE_TESTS/two_hosts.sh"
  done
  for name in spark_cluster power_off; do
    part "$first-$name" --timeout "$cluster_limit" --memory 3G pair "$RXE_TESTS/$name.sh" "$RXE_TESTS/$name.sh"
  done
  run_here harness 7200 "$RXE_TESTS/harness.sh" --all
}

command_test() {
  local line test_logs native=() passed=0 failed=0 skipped=0 rows=() lines=("$kernel")
  case ${1:-} in
    '') ;;
    --all) lines=("${RXE_LINES[@]}") native=(verbs-tests) ;;
    *) die 2 "unknown option '$1'; bin/rxe --help lists the options" ;;
  esac
  [ $# -le 1 ] || die 2 "test takes nothing after $1, and not '$2'"
  new_logs test
  test_logs=$logs
  build_tests "${native[@]}"
  for line in "${lines[@]}"; do rows+=("kernel $line is $("$ROOT/bin/rxe" --kernel "$line" fetch)") || true; done
  if [ "${1:-}" = --all ]; then
    all_parts
  else
    junit_part "$kernel" short
    run_here harness 900 "$RXE_TESTS/harness.sh"
  fi
  printf '%s\n' "${rows[@]}" "logs in $test_logs; $((SECONDS / 60)) min $((SECONDS % 60)) s"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
}
