#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe: JUnit's console launcher with ARGS on the plugin's tests. Reports go to
# $RXE_SHARED/${REPORTS:-reports}. Tests have no time limit but the guest's, because a guest's speed depends on what
# else the host does. A package that -p names must have tests: the launcher ignores one that does not exist.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/java.sh"
previous=
for argument in "$@"; do
  if [ "$previous" = -p ] && ! compgen -G "target/test-classes/${argument//.//}/*Test.class" >/dev/null; then
    echo "FAIL there are no tests in $PWD/target/test-classes/${argument//.//}" >&2
    exit 1
  fi
  previous=$argument
done
test_java -Xmx512m org.junit.platform.console.ConsoleLauncher execute \
  --disable-banner --disable-ansi-colors --details=testfeed --fail-if-no-tests \
  --config junit.jupiter.execution.timeout.mode=disabled \
  --reports-dir="$RXE_SHARED/${REPORTS:-reports}" "$@"
