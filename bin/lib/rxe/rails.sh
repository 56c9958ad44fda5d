#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in both guests of a pair with two interfaces, each of which gets a second device: rxe1 on eth1, in an IP network
# of its own.
# Of the two executors of a guest each must take one of these rails. Without routes between the rails, blocks must come
# by TCP for that reason, and with routes, those of the other guest by RDMA. When rxe1 of guest 2 goes down during a sort, the sort must end
# right without running a stage again. verify-hardware must tell the same of each pair of rails.
# shellcheck disable=SC2034,SC2154 # prepare_cluster.sh writes rails_*, and cluster.sh starts worker*
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
worker1=("${rails_worker1[@]}") worker2=("${rails_worker2[@]}") driver=("${rails_driver[@]}")
rail_address=10.9.1.$RXE_GUEST
hardware_port=7400
wrong=0

make_second_rail() {
  ip addr add "$rail_address/24" dev eth1
  ip link set eth1 up mtu 9000
  rdma link add rxe1 type rxe netdev eth1
  # Else eth0 answers for the address of eth1, as both are on one network, and packets come to the other device.
  echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
  echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce
}

# Sends what comes from an address of a rail over its interface, also to the network of the other rail.
make_routes() {
  local rail network
  for rail in 0 1; do
    ip rule add from "10.9.$rail.$RXE_GUEST" table $((100 + rail))
    for network in 10.9.0.0/24 10.9.1.0/24; do ip route add $network dev eth$rail table $((100 + rail)); done
  done
}

verify_hardware() {
  java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -jar "$here"/../../../shuffle-rdma/target/shuffle-rdma-*-SNAPSHOT.jar \
    --device rxe0,rxe1 --dir /dev/shm --size 8m --conf spark.shuffle.rdma.connectTimeout=60s "$@"
}

# verify_pairs NAME VERDICT: The pairs of one rail with itself must be proven, and those with the other have the verdict.
verify_pairs() {
  local name=$1 serving=$RXE_SHARED/serving-$1 report=$RXE_SHARED/verify-$1.txt from to wanted
  if [ "$RXE_GUEST" = 1 ]; then
    verify_hardware --serve "$hardware_port" 2>"$serving" || wrong=1
    return
  fi
  until grep -qs 'start it on the other host now' "$serving"; do sleep 0.5; done
  verify_hardware --peer "$RXE_PEER:$hardware_port" --report "$report" >/dev/null || wrong=1
  for from in rxe0 rxe1; do
    for to in rxe0 rxe1; do
      if [ $from = $to ]; then wanted=PROVEN; else wanted=$2; fi
      if grep -q "^  $from:1 to the other host's $to:1 *$wanted" "$report"; then
        echo "PASS $name: $from to $to is $wanted"
      else
        echo "FAIL $name: $from to $to is not $wanted"
        grep "$from:1 to" "$report" || true
        wrong=1
      fi
    done
  done
}

# number NAME: Prints the value of NAME in the sort's JSON; 0 if it is not there.
number() { sed -n "s/^ *\"$1\" : \([0-9]*\),\{0,1\}\$/\1/p" "$RXE_SHARED/result.json" | head -n 1 | grep . || echo 0; }

# require NAME CONDITION...: Checks an arithmetic condition and prints PASS or FAIL.
require() {
  if (($2)); then echo "PASS $1 ($2)"; else echo "FAIL $1 ($2)"; wrong=1; fi
}

# run_sort NAME: Runs the sort, with the driver's log as driver-NAME.log. The sort must be right.
run_sort() {
  local status=0
  rm -rf "$RXE_SHARED/sort" "$RXE_SHARED/result.json"
  "${driver[@]}" >"$RXE_SHARED/driver-$1.log" 2>&1 || status=$?
  if grep -q "^terasort: valid records=$records " "$RXE_SHARED/driver-$1.log"; then
    echo "PASS $1: the sort is right (status $status)"
  else
    echo "FAIL $1: the sort is not right (status $status)"
    wrong=1
  fi
  say "$1: $(number rdma_bytes) bytes by RDMA, $(number tcp_bytes) by TCP"
}

# rails GUEST NAME: Prints the devices of the executors of a guest in the sort that began last.
rails() {
  local newest
  newest=$(find "$RXE_SHARED/work-guest$1" -mindepth 1 -maxdepth 1 -name 'app-*' | sort | tail -n 1)
  sed -n 's/.*Shuffle blocks are read by RDMA over device \(rxe[01]\).*/\1/p' "$newest"/*/stderr | sort | paste -sd ' '
}

# spread GUEST: Prints 1 if the executors of the guest had a rail each in the last sort.
spread() { if [ "$(rails "$1")" = 'rxe0 rxe1' ]; then echo 1; else echo 0; fi; }

lead() {
  local reasons
  run_sort apart
  require "apart: the executors of each guest have a rail each" "$(spread 1) + $(spread 2) == 2"
  reasons=$(grep -c '"fallback\.rail"' "$RXE_SHARED/result.json" || true)
  require "apart: blocks came by TCP because of rails" "$(number tcp_bytes) > 0 && $reasons > 0"
  touch "$RXE_SHARED/sorted-apart"
  make_routes
  verify_pairs connected PROVEN
  run_sort connected
  # Each of the four executors reads a block from the other one of its guest, whose rail it does not reach.
  require "connected: every block of the other guest came by RDMA" \
    "$(number blocks) == 8 && $(number tcp.blocks) == 4 && $(number fallback.rail) == 4"
  touch "$RXE_SHARED/sorted-connected"
  run_sort cut
  require "cut: blocks came by both ways" "$(number tcp_bytes) > 0 && $(number rdma_bytes) > 0"
  require "cut: no stage ran again" "$(grep -c '^terasort: stage [0-9]* runs again' "$RXE_SHARED/driver-cut.log") == 0"
  touch "$RXE_SHARED/sorted-cut"
}

follow() {
  await "the sort without routes" test -e "$RXE_SHARED/sorted-apart"
  make_routes
  verify_pairs connected PROVEN
  await "the sort with routes" test -e "$RXE_SHARED/sorted-connected"
  cut_while_it_serves
}

# Takes rxe1 down once it has sent some packets of the last sort.
cut_while_it_serves() {
  local file=/sys/class/infiniband/rxe1/ports/1/hw_counters/sent_pkts first sent
  read -r first <$file
  while [ ! -e "$RXE_SHARED/sorted-cut" ]; do
    read -r sent <$file
    if [ $((sent - first)) -gt 500 ]; then
      ip link set eth1 down
      say "eth1 is down"
      echo "PASS cut: rxe1 of guest 2 went down after $((sent - first)) packets"
      return
    fi
    sleep 0.05
  done
  echo "FAIL cut: rxe1 of guest 2 sent only $((sent - first)) packets"
  wrong=1
}

make_second_rail
verify_pairs apart 'NOT PROVEN'
start_cluster
if [ "$RXE_GUEST" = 1 ]; then lead; else follow && await "the last sort" test -e "$RXE_SHARED/sorted-cut"; fi
[ "$wrong" = 0 ]
