#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of arm64: the native tests of the software device, the tests of the JNI library and of connections on the
# software device and on rxe0, and a small TeraSort over either. The host has built all of it (build_arm64 in tests.sh).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
. "$ROOT/bin/lib/spark.sh"
. "$ROOT/bin/lib/rxe/sort.sh"
JAVA=$(readlink -f "$(command -v java)")
scripts=$ROOT/bin/lib/rxe work=/tmp/arm64 failed=0

[ "$(uname -m)" = aarch64 ] || die 2 "this is $(uname -m): run it with bin/rxe --arch arm64 run"
mkdir -p "$work"

# Tests that fail run once more, alone: some of them wait only for so long as an emulated processor needs when it has nothing
# else to do.
native_tests() {
  local run=("$ROOT/native-verbs/tests/run" -t 900) log=$work/native again
  cd "$ROOT/native-verbs/target/aarch64/tests"
  # Tests between hosts need tools that are not here.
  find . -mindepth 2 -type f -perm -u+x -not -path './hosts/*' | sed 's|^\./||' | sort | xargs "${run[@]}" -j 3 >"$log" || true
  grep '^PASS ' "$log" || { echo "FAIL no native test passed"; return 1; }
  grep '^SKIP ' "$log" || true
  mapfile -t again < <(sed -nE 's/^FAIL ([^:]*): .*/\1/p' "$log")
  [ ${#again[@]} = 0 ] || "${run[@]}" "${again[@]}"
}

# junit DEVICE: Runs the tests of the packages on the device; soft is the software device.
junit() {
  REPORTS=reports-$1 RDMA_TEST_DEVICE=$1 "$scripts/junit.sh" -p org.shufflerdma.verbs -p org.shufflerdma.connection
}

# sort_on DEVICE
sort_on() {
  local result status=0 dir=$work/sort-$1 command
  rm -rf "$SPARK_HOME/work"
  sort_command "$dir" "$1" 20000 4 2
  SPARK_LOCAL_IP=$RXE_ADDRESS SPARK_LOCAL_DIRS=$dir/local "${command[@]}" >"$work/out-$1" 2>"$work/err-$1" || status=$?
  mkdir -p "$RXE_SHARED/sorts"
  cp "$work/out-$1" "$work/err-$1" "$RXE_SHARED/sorts/"
  result=$(grep '^terasort:' "$work/out-$1" || true)
  if [[ "$status $result" =~ ^"0 terasort: valid ".*" rdma_bytes="[1-9][0-9]*" tcp_bytes=0 " ]]; then
    echo "PASS a sort on $1: $result"
  else
    echo "FAIL a sort on $1: status $status: $result"
    tail -n 25 "$work/err-$1" | cut -c 1-300 | sed 's/^/    /'
    return 1
  fi
}

# The tests look for the natives where a build on the same architecture leaves them.
mount --bind "$ROOT/native-verbs/target/aarch64/lib" "$ROOT/native-verbs/target/lib"
prepare_spark_home
find_examples_jar
for device in soft rxe0; do
  sort_on "$device" || failed=1
  junit "$device" || failed=1
done
(native_tests) || failed=1
exit "$failed"
