#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in both guests of a pair: TeraSort on their cluster. The sort must be valid and every remote byte must have come
# by RDMA READ; the counters of rxe0, eth0 and tc must confirm that with enough packets, enough bytes and almost no TCP.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

# Prints what this guest has received so far: packets of RDMA, and bytes of all kinds.
received() { echo "$(rxe_counter rcvd_pkts) $(cat /sys/class/net/eth0/statistics/rx_bytes)"; }

# Tells guest 1 what guest 2 has received, once the sort has ended.
tell_received() {
  await "the end of the sort" test -e "$RXE_SHARED/sorted"
  received >"$RXE_SHARED/received.new"
  mv "$RXE_SHARED/received.new" "$RXE_SHARED/received"
}

# number NAME: Prints the value of NAME in the sort's JSON, the first one if there are several.
number() {
  local value
  value=$(sed -n "s/^ *\"$1\" : \([0-9]*\),\{0,1\}\$/\1/p" "$RXE_SHARED/result.json" | head -n 1)
  [ -n "$value" ] || { echo "FAIL result.json names no $1"; return 1; } >&2
  echo "$value"
}

# require WHAT CONDITION: Checks an arithmetic condition and prints PASS or FAIL.
require() {
  if (($2)); then echo "PASS $1 ($2)"; else echo "FAIL $1 ($2)"; wrong=1; fi
}

sort_and_judge() {
  local status=0 wrong=0 packets bytes packets2 bytes2 rdma tcp roce mtu
  local remote fallen executors reasons
  "${driver[@]}" 2>&1 | tee "$RXE_SHARED/driver.log" || status=$?
  touch "$RXE_SHARED/sorted"
  say "the sort ended with status $status"
  tcp=$(($(counted "$TCP4") + $(counted "$TCP6"))) roce=$(counted "$ROCE4")
  read -r packets bytes < <(received)
  await "guest 2's counters" test -e "$RXE_SHARED/received"
  read -r packets2 bytes2 <"$RXE_SHARED/received"
  mtu=$(ibv_devinfo -d rxe0 | sed -n 's/.*active_mtu:[[:space:]]*\([0-9]*\) .*/\1/p')
  [ -s "$RXE_SHARED/result.json" ] || return 1
  # These are separate commands, so that a missing value ends the script.
  rdma=$(number rdma_bytes)
  remote=$(number spark_remote_bytes)
  fallen=$(number tcp_bytes)
  executors=$(number executors)
  reasons=$(grep -c '"fallback\.' "$RXE_SHARED/result.json" || true)
  require "the sort is valid, with every remote byte by RDMA" "$status == 0"
  require "both executors had tasks" "$executors == 2"
  require "Spark counted as many remote bytes as the shuffle by RDMA" "$remote == $rdma && $rdma > 0"
  require "no block fell back to TCP" "$fallen + $reasons == 0"
  require "rxe0 of both guests received the packets" \
    "$packets + $packets2 >= $rdma / $mtu && $packets > 0 && $packets2 > 0"
  require "eth0 of both guests received the bytes" "$bytes + $bytes2 >= $rdma"
  require "tc counted as many bytes of RoCE" "$roce >= $rdma"
  require "tc counted less than 5 % of them as TCP" "$tcp * 20 < $rdma"
  return "$wrong"
}

[ "$RXE_GUEST" = 2 ] || count_traffic
start_cluster
if [ "$RXE_GUEST" = 1 ]; then sort_and_judge; else tell_received; fi
