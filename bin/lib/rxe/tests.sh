# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by bin/rxe: implements `bin/rxe test`, the plugin's tests in guests.
# shellcheck disable=SC2154 # options are bin/rxe's

RXE_TESTS=$ROOT/bin/lib/rxe

# The packages that do not need Spark; their classes that run only on the first kernel of --all, because JVMs start slowly
# in a guest or because the classes use no device; and those for which CI's guest has no time.
RXE_PACKAGES_UNDER_TEST="verbs connection mapoutput fetch staging device memory"
RXE_LONG_TESTS='PeerProcess|DeviceChoice|BufferPool|FuzzedMessages|KnownExtent|NativeLibrary|Rails|TcpProbe'
RXE_TESTS_OF_ALL='BlockFetcher|DescriptorLease|FailedFetch|LostTime|StagingIntruder'

# part NAME ARGS...: Runs bin/rxe with ARGS and counts the tests in its reports and in its lines PASS, FAIL and SKIP.
part() {
  local name=$1
  shift
  run_part "$name" "$ROOT/bin/rxe" --logs "$test_logs/$name" --timeout "$limit" "$@"
}

# run_here NAME SECONDS CMD...: Runs CMD on the host, for at most that long.
run_here() { run_part "$1" timeout -k 10 "${@:2}"; }

# run_part NAME CMD...: Runs CMD, which ends with this shell, however the shell ends.
run_part() {
  local name=$1 status=0 start=$SECONDS log=$test_logs/$1 reports sums p f s
  local not_reason='\(parent was skipped: \|org.opentest4j.TestAbortedException: \)*'
  shift
  setpriv --pdeathsig TERM "$@" >"$log.log" 2>&1 </dev/null &
  pids=($!)
  wait "${pids[0]}" || status=$?
  pids=()
  read -r p f s < <(sed -nE 's/^(\[[12]\] )?(PASS|FAIL|SKIP) .*/\2/p' "$log.log" |
    awk '{ n[$1]++ } END { print n["PASS"] + 0, n["FAIL"] + 0, n["SKIP"] + 0 }')
  sed -nE "s/^(\\[[12]\\] )?SKIP /left out: $name: /p" "$log.log"
  mapfile -t reports < <(find "$log"/shared/reports* -name 'TEST-*.xml' 2>/dev/null)
  read -r -a sums < <(junit_sums "${reports[@]}")
  p=$((p + sums[0])) f=$((f + sums[1])) s=$((s + sums[2]))
  sed -n "s/^<skipped><!\[CDATA\[$not_reason\(.*\)/\2/p" /dev/null "${reports[@]}" | sed 's/\]\]>.*//' | sort | uniq -c |
    sed "s/^ */left out: $name: /"
  if [ "$status,$p,$f" = 0,0,0 ] && [ "$name" != prepare ]; then
    echo "FAIL no test ran in $name" >>"$log.log"
    status=1
  fi
  if [ "$status" != 0 ]; then
    grep -aE -A4 ':: FAILED|^(\[[12]\] )?FAIL |^rxe: |fatal error|^    ' "$log.log" | head -n 60 || true
    tail -n 10 "$log.log"
    echo "$name: status $status, see $log.log and $log"
    [ "$f" != 0 ] || f=1
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  rows+=("$(printf '%-22s %4d passed %3d failed %3d skipped  %4d s' "$name" "$p" "$f" "$s" $((SECONDS - start)))")
  echo "${rows[-1]}"
}

# build_tests [TARGET]: Builds what the parts need, and a target of native-verbs/Makefile.
build_tests() {
  need_jdk_and_maven
  need_build_packages
  alone build shuffle-rdma test-compile
  [ $# = 0 ] || run_logged make-tests make -s -j "$(nproc)" -C native-verbs "$1" || exit 1
}

# build_arm64: Builds the natives and their tests for aarch64, and the jars and tests that bring the natives.
build_arm64() {
  need_cross_compiler
  run_logged make-arm64 make -s -j "$(nproc)" -C native-verbs OUT=target/aarch64 "CC=${CROSS}gcc" all test-programs || return 1
  build_tests
  "$RXE_TESTS/prepare_cluster.sh"
}

# junit_part LINE [CLASSES]: Runs the plugin's tests, but those of CLASSES, such as A|B for ATest and BTest.
junit_part() {
  local line=$1 packages=() name
  for name in $RXE_PACKAGES_UNDER_TEST; do packages+=(-p "org.shufflerdma.$name"); done
  if [ $# = 2 ]; then
    part "$line-tests" --kernel "$line" run "$RXE_TESTS/junit.sh" "${packages[@]}" -N ".*\\.($2)Test"
  else
    part "$line-tests" --kernel "$line" --memory 6G run "$RXE_TESTS/junit.sh" "${packages[@]}"
  fi
}

# The parts of test --all: what depends on the kernel runs on each of RXE_LINES, the rest on the first.
PARTS=("${RXE_LINES[0]}"-{tests,with-spark,node-service,programs,memlock,mappings,budget,container,fabric})
for line in "${RXE_LINES[@]:1}"; do PARTS+=("$line-tests"); done
for line in "${RXE_LINES[@]}"; do
  # the kernels that docs/rxe-differences.md covers
  case $line in 6.1 | 6.12) PARTS+=("$line-native") ;; esac
  PARTS+=("$line"-{filesystems,hardware,two-hosts})
done
PARTS+=({"${RXE_LINES[0]}",newest}-on-demand "${RXE_LINES[0]}"-{spark_cluster,rails,doctor,power_off} arm64 harness)

# long_part NAME
long_part() {
  local name=$1 line=${1%%-*} script=$RXE_TESTS/${1#*-}.sh first=${RXE_LINES[0]} clustered
  clustered=(--timeout "$cluster_limit" --memory 3G pair "$script" "$script")
  set -- part "$name" --kernel "$line"
  case $name in
    "$first-tests") junit_part "$line" ;;
    *-tests) junit_part "$line" "$RXE_LONG_TESTS" ;;
    *-node-service)
      alone build node-service test-compile
      "$@" --memory 6G run env MODULE=node-service "$RXE_TESTS/junit.sh" -p org.shufflerdma.nodeservice
      ;;
    *-with-spark) "$@" --memory 6G run env MODULE=shuffle-rdma "$RXE_TESTS/junit.sh" -p org.shufflerdma.reader ;;
    *-programs) "$@" --memory 1G pair "$script" "$script" ;;
    *-on-demand) "$@" --memory 6G run "$RXE_TESTS/budget.sh" on-demand ;;
    *-memlock | *-budget | *-container) "$@" --memory 6G run "$script" ;;
    *-native | *-filesystems | *-fabric | *-mappings) "$@" run "$script" ;;
    *-hardware) "$@" --memory 3G run "$RXE_TESTS/verify_hardware.sh" ;;
    *-two-hosts) "$@" --memory 1G pair "$RXE_TESTS"/{two_hosts,two_hosts}.sh ;;
    *-spark_cluster | *-power_off) "$@" "${clustered[@]}" ;;
    *-rails | *-doctor) "$@" --interfaces 2 "${clustered[@]}" ;;
    arm64) build_arm64 && limit=$cluster_limit part "$name" --arch arm64 --kernel "$first" --memory 6G run "$RXE_TESTS/arm64.sh" ;;
    harness) run_here harness 7200 "$RXE_TESTS/harness.sh" --all ;;
  esac
}

command_test() {
  local name line test_logs native=() passed=0 failed=0 skipped=0 rows=() lines=("$kernel")
  case ${1:-} in
    '') ;;
    --all) lines=("${RXE_LINES[@]}") native=(verbs-tests) ;;
    *) die 2 "unknown option '$1'; bin/rxe --help lists the options" ;;
  esac
  for name in "${@:2}"; do [[ " ${PARTS[*]} " = *" $name "* ]] || die 2 "unknown part '$name'; bin/rxe parts names them"; done
  new_logs test
  test_logs=$logs
  build_tests "${native[@]}"
  for line in "${lines[@]}"; do rows+=("kernel $line is $("$ROOT/bin/rxe" --kernel "$line" fetch)") || true; done
  if [ "${1:-}" = --all ]; then
    run_here prepare 1800 "$RXE_TESTS/prepare_cluster.sh" # the jars and the Spark home of other parts, too
    [ $# -gt 1 ] || set -- "$1" "${PARTS[@]}"
    for name in "${@:2}"; do long_part "$name"; done
  else
    junit_part "$kernel" "$RXE_LONG_TESTS|$RXE_TESTS_OF_ALL"
    run_here harness 900 "$RXE_TESTS/harness.sh"
  fi
  printf '%s\n' "${rows[@]}" "logs in $test_logs; $((SECONDS / 60)) min $((SECONDS % 60)) s"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
}
