#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# native.sh [TEST...]: runs in a guest of bin/rxe; runs all native tests, or those named, as programs of the
# distribution's libibverbs and librdmacm (make -C native-verbs verbs-tests). Their results must differ from what they
# claim exactly as docs/rxe-differences.md lists.
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
# How long a test waits for something before it counts as absent; a program does so up to 36 times
# (transport/error_rem_access on 6.1).
export TEST_WAIT_MS=10000
limit=600
export RDMA_TEST_DEVICE=rxe0 RDMA_TEST_ADDRESS=$RXE_ADDRESS TEST_CASES=each

# run_test TEST: Runs the test; its output goes to TEST.log and the observations to TEST.seen.
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

# judge: Prints PASS, FAIL or SKIP for the observations so far.
judge() { cat "$logs"/*.seen | awk -v kernel="$kernel" -f "$judges/compare.awk" "$page" -; }

# Prints the RDMA objects of the kernel.
objects() { rdma resource show; }

export -f run_test
export logs programs judges limit
mkdir -p "$logs"
[ $# -gt 0 ] || mapfile -t tests <"$programs/tests"
[ $# -eq 0 ] || tests=("$@")
before=$(objects)
run_tests 6 "${tests[@]}"

# Tests with unlisted results run once more, alone, because a guest's speed depends on what else the host does.
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
