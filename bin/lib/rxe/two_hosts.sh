#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in both guests of a pair: the plugin's transport tests with readers in guest 2 and the servers that they start in
# guest 1. The bytes must have come in packets of rxe0, over eth0.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
port=7000 done=$RXE_SHARED/done listening=$RXE_SHARED/listening
# What the test that reads most reads at least: three times sixteen blocks of 50,000 bytes.
read_bytes=2400000

received_packets() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts; }
received_bytes() { cat /sys/class/net/eth0/statistics/rx_bytes; }

# await FILE: it is there within the guest's time, which bin/rxe bounds.
await() { until [ -e "$1" ]; do sleep 0.2; done; }

serve() {
  local listener
  busybox nc -ll -p "$port" -e "$here/serve_peer.sh" &
  listener=$!
  touch "$listening"
  await "$done"
  kill "$listener"
}

read_from_peer() {
  local status=0 packets bytes
  await "$listening"
  packets=$(received_packets) bytes=$(received_bytes)
  RDMA_TEST_PEER=$RXE_PEER:$port "$here/junit.sh" -c org.shufflerdma.fetch.PeerProcessTest || status=$?
  touch "$done"
  packets=$(($(received_packets) - packets)) bytes=$(($(received_bytes) - bytes))
  echo "rxe0 received $packets packets, eth0 $bytes bytes"
  if [ "$packets" -lt $((read_bytes / 4096)) ] || [ "$bytes" -lt "$read_bytes" ]; then
    echo "the blocks did not come through rxe0" >&2
    status=1
  fi
  return "$status"
}

if [ "$RXE_GUEST" = 1 ]; then serve; else read_from_peer; fi
