#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe: JUnit's console launcher with ARGS, in the plugin's tests. Reports go to
# $RXE_SHARED/${REPORTS:-reports}. Tests may take as long as the guest, whose time is bounded: how fast it is depends on what else
# the host does.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/java.sh"
test_java -Xmx512m org.junit.platform.console.ConsoleLauncher execute \
  --disable-banner --disable-ansi-colors --details=testfeed --config junit.jupiter.execution.timeout.mode=disabled \
  --reports-dir="$RXE_SHARED/${REPORTS:-reports}" "$@"
