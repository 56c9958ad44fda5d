#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# native.sh [TEST...]: runs in a guest of bin/rxe the native tests as programs of the distribution's libibverbs and
# librdmacm (make -C native-verbs verbs-tests), all or those named. What they show must differ from what they claim just
# as docs/rxe-differences.md says.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
. "$ROOT/bin/lib/rxe/built.sh"
need_native_tests
page=$ROOT/docs/rxe-differences.md
programs=$ROOT/native-verbs/target/verbs-tests
judges=$ROOT/native-verbs/tests/rxe
logs=$RXE_SHARED/native
kernel=$(uname -r | cut -d . -f 1,2)
# What does not come is waited for so long before it counts as none, up to 36 times in a program
# (transport/error_rem_access on 6.1).
export TEST_WAIT_MS=10000
limit=600
export RDMA_TEST_DEVICE=rxe0 RDMA_TEST_ADDRESS=$RXE_ADDRESS TEST_CASES=each

# run_test TEST: its output goes to TEST.log, what is seen in it to TEST.seen.
run_test() {
  local status=0 log=$logs/${1//\//-}
  timeout -k 5 "$limit" "$programs/$1" >"$log.log" 2>&1 </dev/null || status=$?
  awk -v test="$1" -v status="$status" -v limit="$limit" -f "$judges/observe.awk" "$log.log" >"$log.seen"
}

# run_tests JOBS TEST...
run_tests() {
  local jobs=$1
  shift
  printf '%s\n' "$@" | xargs -P "$jobs" -I '{}' bash -c 'run_test {}'
}

# judge: PASS, FAIL or SKIP of what has been seen so far.
judge() { cat "$logs"/*.seen | awk -v kernel="$kernel" -f "$judges/compare.awk" "$page" -; }

# What the kernel has of RDMA objects.
objects() { rdma resource show; }

export -f run_test
export logs programs judges limit
mkdir -p "$logs"
[ $# -gt 0 ] || mapfile -t tests <"$programs/tests"
[ $# -eq 0 ] || tests=("$@")
before=$(objects)
run_tests 6 "${tests[@]}"

# What is not as listed is tried again by itself: how fast a guest is depends on what else the host does.
mapfile -t again < <(judge | sed -nE 's/^FAIL (not listed: |gone: [^|]* \| )([^ ]*) \| .*/\2/p' | sort -u)
for name in "${again[@]}"; do
  # shellcheck disable=SC2254
  for one in "${tests[@]}"; do case $one in $name) run_tests 1 "$one" ;; esac done
done

judge | tee "$logs/verdict"
after=$(objects)
[ "$before" = "$after" ] || echo "FAIL the kernel had $before before, and has $after" | tee -a "$logs/verdict"
dmesg >"$logs/dmesg"
grep -E 'BUG:|WARNING:|Oops|general protection|lockup|blocked for more' "$logs/dmesg" | sed 's/^/FAIL the kernel: /' |
  tee -a "$logs/verdict" || true
if grep -q '^FAIL ' "$logs/verdict"; then
  echo "$page lists what differs: it must say just what is seen" >&2
  exit 1
fi
