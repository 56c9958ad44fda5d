#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in both guests of a pair: the plugin's transport tests with readers in guest 2 and the servers that they start in
# guest 1, then one test of them over IPv6. The bytes must have come in packets of rxe0, over eth0.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
port=7000 port6=7001 done=$RXE_SHARED/done listening=$RXE_SHARED/listening
# What the test that reads most reads at least, by IPv4 and by IPv6: three times sixteen blocks of 50,000 bytes.
read_bytes=4800000

received_packets() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts; }
received_bytes() { cat /sys/class/net/eth0/statistics/rx_bytes; }

# await FILE: it is there within the guest's time, which bin/rxe bounds.
await() { until [ -e "$1" ]; do sleep 0.2; done; }

serve() {
  local listeners
  busybox nc -ll -p "$port" -e "$here/serve_peer.sh" &
  listeners=($!)
  RDMA_TEST_ADDRESS=$RXE_ADDRESS6 busybox nc -ll -p "$port6" -e "$here/serve_peer.sh" &
  listeners+=($!)
  touch "$listening"
  await "$done"
  kill "${listeners[@]}"
}

read_from_peer() {
  local status=0 packets bytes
  await "$listening"
  packets=$(received_packets) bytes=$(received_bytes)
  RDMA_TEST_PEER=$RXE_PEER:$port "$here/junit.sh" -c org.shufflerdma.fetch.PeerProcessTest || status=$?
  RDMA_TEST_PEER=$RXE_PEER:$port6 RDMA_TEST_ADDRESS=$RXE_ADDRESS6 REPORTS=reports-ipv6 "$here/junit.sh" \
    -m org.shufflerdma.fetch.PeerProcessTest#blocksOfAnotherProcessAreDelivered || status=$?
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
