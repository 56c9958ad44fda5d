#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rping: connection by rdma_cm, SEND, READ, WRITE and data validation, with each READ path; IPv4 and IPv6.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need rping

for path in cma wire file; do
  SOFTVERBS_PATH=$path
  export SOFTVERBS_PATH
  rping_at 127.0.0.1 -S 4096
  [ $path = file ] && path=wire
  expect_reads $path
done
unset SOFTVERBS_PATH
if grep -q '^0*1 ' /proc/net/if_inet6 2>/dev/null; then
  rping_at ::1
fi
