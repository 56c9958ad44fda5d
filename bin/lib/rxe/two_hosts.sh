#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in both guests of a pair: the plugin's transport tests, with readers in guest 2 and the servers that they start
# in guest 1, and then one of the tests over IPv6. Each time the bytes must have come by RoCE, in packets of rxe0. Last,
# verify-hardware in guest 2 reads from the one in guest 1.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source-path=SCRIPTDIR
. "$here/traffic.sh"
port=7000 port6=7001 hardware_port=7400 serving=$RXE_SHARED/serving done=$RXE_SHARED/done listening=$RXE_SHARED/listening failed=0
# What blocksOfAnotherProcessAreDelivered reads, a test of both runs: three times sixteen blocks of 50,000 bytes.
read_bytes=$((3 * 16 * 50000))

# await FILE: Waits for the file; bin/rxe bounds the guest's time.
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
  verify_hardware --serve "$hardware_port" 2>"$serving" && echo "PASS verify-hardware has served the other guest"
}

verify_hardware() {
  java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -jar "$here"/../../../shuffle-rdma/target/shuffle-rdma-*-SNAPSHOT.jar --device rxe0 --size 8m \
    --conf spark.shuffle.rdma.connectTimeout=60s "$@"
}

verify_peer() {
  local report=$RXE_SHARED/verify-hardware.txt
  until grep -qs 'start it on the other host now' "$serving"; do sleep 0.5; done
  verify_hardware --peer "$RXE_PEER:$hardware_port" --report "$report"
  grep -q '^  bytes of another host  *PROVEN' "$report" && grep -qx 'READ and TCP between two hosts' "$report"
}

# read_over NAME PROTOCOL OTHER PORT ARGS...: junit.sh with ARGS must pass and read the blocks by PROTOCOL. OTHER may
# carry a little that the kernel still sends to peers that are gone.
read_over() {
  local name=$1 protocol=$2 other=$3 status=0 packets bytes others
  packets=$(rxe_counter rcvd_pkts) bytes=$(counted "$protocol") others=$(counted "$other")
  RDMA_TEST_PEER=$RXE_PEER:$4 REPORTS=reports-${name,,} "$here/junit.sh" "${@:5}" || status=$?
  packets=$(($(rxe_counter rcvd_pkts) - packets))
  bytes=$(($(counted "$protocol") - bytes)) others=$(($(counted "$other") - others))
  if [ "$status" = 0 ] && [ "$packets" -ge $((read_bytes / 4096)) ] && [ "$bytes" -ge $read_bytes ] &&
    [ $((others * 20)) -lt "$bytes" ]; then
    status=PASS
  else
    status="FAIL (JUnit's status is $status)" failed=1
  fi
  echo "$status blocks over $name: $packets packets, $bytes bytes of RoCE, and $others bytes of it otherwise"
}

read_from_peer() {
  await "$listening"
  count_traffic
  read_over IPv4 "$ROCE4" "$ROCE6" "$port" -c org.shufflerdma.fetch.PeerProcessTest
  RDMA_TEST_ADDRESS=$RXE_ADDRESS6 read_over IPv6 "$ROCE6" "$ROCE4" "$port6" \
    -m org.shufflerdma.fetch.PeerProcessTest#blocksOfAnotherProcessAreDelivered
  touch "$done"
  if verify_peer; then echo "PASS verify-hardware has read from the other guest"; else echo "FAIL verify-hardware"; failed=1; fi
  return "$failed"
}

if [ "$RXE_GUEST" = 1 ]; then serve; else read_from_peer; fi
