# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced in a guest of bin/rxe: the plugin's tests on rxe0, on the distribution's libraries.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)
export RDMA_TEST_DEVICE=rxe0 RDMA_TEST_ADDRESS=${RDMA_TEST_ADDRESS:-$RXE_ADDRESS} RDMA_TEST_ADDRESS6=$RXE_ADDRESS6
cd "$root/shuffle-rdma" || exit
[ -e target/test.classpath ] || { echo "the tests are not built: run bin/rxe test on the host first" >&2; exit 2; }

# test_java ARGS...: replaces this shell by a JVM with the options that Maven gives to tests, and their class path. Most
# packages do without Spark's hundred jars, which take long to open here, but for its logger; WITH_SPARK=yes adds them.
test_java() {
  local options jars
  read -r -a options < <(sed -n 's:.*<argLine>\(.*\)</argLine>.*:\1:p' "$root/pom.xml")
  jars=$(cat target/test.classpath)
  [ "${WITH_SPARK:-no}" = yes ] ||
    jars=$(tr ':' '\n' <target/test.classpath |
      grep -E '/(junit|opentest4j|assertj|byte-buddy|disni|slf4j-api|log4j-(api|core|slf4j2))[^/]*$' | paste -sd :)
  exec "${JAVA:-java}" "${options[@]}" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
    -cp "target/test-classes:target/classes:$jars" "$@"
}
