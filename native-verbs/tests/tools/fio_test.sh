#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fio's rdma engine: its READs, WRITEs and SENDs, with events of completions and several requests under way.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need fio

# fio keeps files of its own in the current directory.
cd "$work"

job() { # verb
  port=$(free_port)
  start_server fio --name=server --ioengine=rdma --port="$port" --bs=64k --size=8m --rw=read --iodepth=16
  wait_until cm_listens "$port"
  run_client fio --name=client --ioengine=rdma --hostname=127.0.0.1 --port="$port" --verb="$1" --bs=64k --size=8m \
    --rw=write --iodepth=8
  join_server
  grep -q 'err= 0' "$work/client.log" || fail "fio ended with an error"
  grep -q 'io=8192KiB' "$work/client.log" || fail "not everything was transferred"
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
