# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced in a guest of bin/rxe, after common.sh: checks that what the guest runs is built and newer than its sources. A
# guest cannot build: it is slow, has no network, and keeps nothing.

# need_jars: Ends with status 2 if the jars are older than the sources.
need_jars() {
  local stamp=$ROOT/benchmarks/target/package.stamp remedy="run bin/lib/rxe/prepare_cluster.sh on the host first"
  { [ -e "$PLUGIN_JAR" ] && [ -e "$stamp" ]; } || die 2 "the jars are not built: $remedy"
  { make -q -C "$ROOT/native-verbs" all >/dev/null 2>&1 && [ -z "$(newer_than "$stamp")" ]; } ||
    die 2 "sources have changed since the jars were built: $remedy"
}

# need_native_tests: Ends with status 2 if the tests are older than the sources.
need_native_tests() {
  local stamp=$ROOT/native-verbs/target/verbs-tests/tests newer
  local remedy="run make -s -j \$(nproc) -C native-verbs verbs-tests on the host first"
  [ -e "$stamp" ] || die 2 "the native tests are not built: $remedy"
  newer=$(find "$ROOT"/native-verbs/{tests,softdev} -type f -name '*.[ch]' -newer "$stamp" -print -quit)
  [ -z "$newer" ] || die 2 "$newer has changed since the native tests were built: $remedy"
}
