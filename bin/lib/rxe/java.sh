# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced in a guest of bin/rxe: runs the tests of a module, rdma-transport unless MODULE names another one, on rxe0 and
# the distribution's libraries, or if RDMA_TEST_DEVICE is soft on the software device.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)
if [ "${RDMA_TEST_DEVICE:=rxe0}" = soft ]; then
  unset RDMA_TEST_DEVICE RDMA_TEST_ADDRESS
else
  export RDMA_TEST_DEVICE RDMA_TEST_ADDRESS=${RDMA_TEST_ADDRESS:-$RXE_ADDRESS} RDMA_TEST_ADDRESS6=$RXE_ADDRESS6
fi
cd "$root/${MODULE:-rdma-transport}" || exit
[ -e target/test.classpath ] || { echo "the tests are not built: run bin/rxe test on the host first" >&2; exit 2; }

# test_java ARGS...: Replaces this shell by a JVM with the options and the class path that Maven gives to tests.
test_java() {
  local options
  read -r -a options < <(sed -n 's:.*<argLine>\(.*\)</argLine>.*:\1:p' "$root/pom.xml")
  exec "${JAVA:-java}" "${options[@]}" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
    -cp "target/test-classes:target/classes:$(cat target/test.classpath)" "$@"
}
