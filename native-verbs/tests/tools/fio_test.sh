#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fio's rdma engine: its READs, WRITEs and SENDs, with events of completions and several requests under way.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need fio

# fio keeps files of its own in the current directory.
cd "$work"

job() { # verb
  pair cm_listens fio --name=server --ioengine=rdma --port=PORT --bs=64k --size=8m --rw=read --iodepth=16 -- \
    fio --name=client --ioengine=rdma --hostname=127.0.0.1 --port=PORT --verb="$1" --bs=64k --size=8m --rw=write --iodepth=8
  expect_line 'err= 0'
  expect_line 'io=8192KiB'
}

# fio connects without RNR retries, and does not end once a receive came later than its SEND, as on a busy host: tried again then.
sends() {
  limit=20
  for _ in 1 2 3; do
    (trap end_server EXIT && job send) && return
    grep -q 'RNR retry counter exceeded' "$work/client.log" || exit 1
  done
  fail "each time a SEND found no receive"
}

try write job write
try read job read
try send sends
verdict
