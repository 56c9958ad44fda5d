#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in both guests of a pair: programs of the distribution, with servers in guest 1 and clients in guest 2. Both must
# succeed, and rxe0 must have received packets.
set -euo pipefail
server_address=10.9.0.1 server_address6=fd09::1
verbs="-d rxe0 -g 1" perftest="-d rxe0 -x 1 -F"
failed=0

# Server and client of each case. Pingpongs without retransmission (UC, UD) wait for ever after a lost packet, and busy
# hosts lose packets.
cases=(
  "rping -s -a $server_address -C 5 -V|rping -c -a $server_address -C 5 -V"
  "rping -s -a $server_address6 -C 5 -V|rping -c -a $server_address6 -C 5 -V"
  "rdma_server|rdma_client -s $server_address"
  "rdma_xserver|rdma_xclient -s $server_address"
  "ucmatose -C 5|ucmatose -C 5 -s $server_address"
  "udaddy -C 5|udaddy -C 5 -s $server_address"
  "ibv_rc_pingpong $verbs -c|ibv_rc_pingpong $verbs -c $server_address"
  "ibv_srq_pingpong $verbs|ibv_srq_pingpong $verbs $server_address"
  "ib_read_bw $perftest -s 65536 -n 100|ib_read_bw $perftest -s 65536 -n 100 $server_address"
  "ib_read_lat $perftest -s 4096 -n 100|ib_read_lat $perftest -s 4096 -n 100 $server_address"
  "ib_read_bw $perftest -R -q 4 -s 65536 -n 100|ib_read_bw $perftest -R -q 4 -s 65536 -n 100 $server_address"
  "ib_write_bw $perftest -s 65536 -n 100|ib_write_bw $perftest -s 65536 -n 100 $server_address"
  "ib_send_bw $perftest -s 65536 -n 100|ib_send_bw $perftest -s 65536 -n 100 $server_address"
  "ib_send_lat $perftest -s 64 -n 100|ib_send_lat $perftest -s 64 -n 100 $server_address"
  "ib_atomic_lat $perftest -n 100|ib_atomic_lat $perftest -n 100 $server_address"
)

received_packets() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts; }

# shellcheck disable=SC2317 # called by await
listen() { [ -n "$(ss -Htln)" ] || rdma resource show cm_id | grep -q LISTEN; }

# await CMD...: Waits up to a minute until CMD succeeds.
await() {
  local deadline=$((SECONDS + 60))
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.2
  done
}

# verdict NAME STATUS LOG
verdict() {
  if [ "$2" = 0 ]; then
    echo "PASS $1"
  else
    echo "FAIL $1: status $2"
    sed 's/^/    /' "$3" | tail -n 12
    failed=1
  fi
}

serve() {
  local number=$1 command=${2%%|*} status=0
  # shellcheck disable=SC2086
  timeout -k 2 120 $command >"/tmp/$number" 2>&1 &
  if await listen; then touch "$RXE_SHARED/listens-$number"; else kill $!; fi
  wait $! || status=$?
  verdict "$number server ${command}" "$status" "/tmp/$number"
}

ask() {
  local number=$1 command=${2#*|} status=0 packets
  if ! await test -e "$RXE_SHARED/listens-$number"; then
    echo "FAIL $number client $command: its server does not listen"
    failed=1
    return
  fi
  packets=$(received_packets)
  # A server of rdma_cm is visible shortly before it listens, so a refused client tries again.
  for _ in 1 2 3; do
    status=0
    # shellcheck disable=SC2086
    timeout -k 2 60 $command >"/tmp/$number" 2>&1 || status=$?
    [ "$status" != 0 ] || break
    sleep 1
  done
  packets=$(($(received_packets) - packets))
  [ "$packets" -ge 3 ] || { echo "rxe0 received $packets packets" >>"/tmp/$number"; status=1; }
  verdict "$number client $command ($packets packets)" "$status" "/tmp/$number"
}

for number in "${!cases[@]}"; do
  if [ "$RXE_GUEST" = 1 ]; then serve "$number" "${cases[number]}"; else ask "$number" "${cases[number]}"; fi
done
exit "$failed"
