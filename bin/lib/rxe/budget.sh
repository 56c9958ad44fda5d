#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: budget.sh [on-demand]
# Runs in a guest of bin/rxe: a TeraSort on rxe0 that shuffles five times what its executors may register. All blocks must
# come by RDMA, and in no sample, ten a second, may the kernel count more pinned memory of an executor than its budget, or
# more registered memory of all executors than their budgets. With on-demand paging the outputs are registered, but not
# pinned; where the kernel has none, or it brings wrong bytes, the executors must say so.
# shellcheck disable=SC2016 # conditions are evaluated by check
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
. "$ROOT/bin/lib/spark.sh"
. "$ROOT/bin/lib/rxe/built.sh"
. "$ROOT/bin/lib/rxe/sort.sh"
budget_kib=2048 times=5 work=/tmp/budget failed=0 paging=${1:-pinned}

# Prints the pids of the executors.
executor_pids() { pgrep -f '^[^ ]*java .*CoarseGrainedExecutorBackend' || true; }

# sample: Adds a line for each executor to the samples: pid, pinned KiB, and the KiB that are registered on rxe0 by all of
# them, because the kernel names the thread that registered a region and not its process.
sample() {
  local pid name value pinned registered
  registered=$(rdma resource show mr | awk '{ for (i = 1; i < NF; i++) if ($i == "mrlen") sum += $(i + 1) } END { printf "%d", sum / 1024 }')
  for pid in $(executor_pids); do
    pinned=''
    while read -r name value _; do [ "$name" != VmPin: ] || pinned=$value; done 2>/dev/null <"/proc/$pid/status" || true
    [ -z "$pinned" ] || echo "$pid $pinned $registered" >>"$work/samples"
  done
}

# check TEXT CONDITION: Prints PASS or FAIL.
check() {
  if eval "$2"; then echo "PASS $1"; else echo "FAIL $1"; failed=1; fi
}

[ -n "${RXE_GUEST:-}" ] || die 2 "it counts what the kernel's RDMA device counts: run it with bin/rxe run"
need_jdk_and_maven
need_jars
prepare_spark_home
find_examples_jar
mkdir -p "$work"
rm -rf "$SPARK_HOME/work"
sort_command "$work" rxe0 $((SORT_EXECUTORS * budget_kib * 1024 * times / 100)) 40 8 --conf spark.shuffle.compress=false \
  --conf "spark.shuffle.rdma.maxRegisteredBytes=${budget_kib}k" \
  --conf "spark.shuffle.rdma.onDemand=$([ "$paging" = pinned ] && echo false || echo true)"
: >"$work/samples"
SPARK_LOCAL_IP=$RXE_ADDRESS SPARK_LOCAL_DIRS=$work/local "${command[@]}" >"$work/out" 2>"$work/err" &
job=$! status=0
while kill -0 "$job" 2>/dev/null; do
  sample
  sleep 0.1
done
wait "$job" || status=$?
mkdir -p "$RXE_SHARED/budget"
cp "$work/out" "$work/err" "$work/samples" "$RXE_SHARED/budget/"
result=$(grep '^terasort:' "$work/out" || true)
read -r count pinned registered < <(awk '{ if ($2 > p) p = $2; if ($3 > r) r = $3 } END { print NR, p + 0, r + 0 }' "$work/samples")
check "status $status: $result" '[[ "$status $result" =~ ^"0 terasort: valid ".*" rdma_bytes="[1-9][0-9]*" tcp_bytes=0 " ]]'
check "$count samples of executors" '[ "$count" -ge 20 ]'
check "at most $pinned KiB of an executor were pinned, of $budget_kib" '[ "$pinned" -gt 0 ] && [ "$pinned" -le "$budget_kib" ]'
refused=$(cat "$SPARK_HOME"/work/app-*/*/stderr | grep -c 'Map outputs are pinned, although spark.shuffle.rdma.onDemand is true: ') || true
if [ "$paging" = pinned ] || [ "$refused" != 0 ]; then
  check "at most $registered KiB of all executors were registered, of $((SORT_EXECUTORS * budget_kib))" \
    '[ "$registered" -gt 0 ] && [ "$registered" -le $((SORT_EXECUTORS * budget_kib)) ]'
else
  check "$registered KiB of all executors were registered, though only $((SORT_EXECUTORS * budget_kib)) may be pinned" \
    '[ "$registered" -gt $((2 * SORT_EXECUTORS * budget_kib)) ]'
fi
if [ "$paging" != pinned ] && [[ $refused != 0 || $RXE_KERNEL = 6.* ]]; then
  check "the executors say why they pin: $(cat "$SPARK_HOME"/work/app-*/*/stderr | grep -om 1 'Map outputs are pinned, although.*')" '[ "$refused" = "$SORT_EXECUTORS" ]'
fi
[ "$failed" = 0 ] || tail -n 25 "$work/err" | cut -c 1-300 | sed 's/^/    /'
exit "$failed"
