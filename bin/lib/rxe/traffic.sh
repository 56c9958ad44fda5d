# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced in a guest of bin/rxe: counts the traffic of eth0 by protocol, with tc, and reads the counters of rxe0.
# shellcheck disable=SC2034
TCP4=1 TCP6=2 ROCE4=3 ROCE6=4

# count_traffic: Starts the counters of tc.
count_traffic() {
  local direction
  modprobe -a sch_ingress cls_flower act_gact
  tc qdisc add dev eth0 clsact
  for direction in ingress egress; do
    tc filter add dev eth0 "$direction" prio $TCP4 protocol ip flower ip_proto tcp action ok
    tc filter add dev eth0 "$direction" prio $TCP6 protocol ipv6 flower ip_proto tcp action ok
    tc filter add dev eth0 "$direction" prio $ROCE4 protocol ip flower ip_proto udp dst_port 4791 action ok
    tc filter add dev eth0 "$direction" prio $ROCE6 protocol ipv6 flower ip_proto udp dst_port 4791 action ok
  done
}

# counted PROTOCOL: Prints how many bytes of a protocol above have been received and sent since then.
counted() {
  local direction
  for direction in ingress egress; do
    tc -s filter show dev eth0 "$direction" prio "$1" | sed -n 's/.*Sent \([0-9]*\) bytes.*/\1/p'
  done | awk '{ sum += $1 } END { print sum + 0 }'
}

# rxe_counter NAME
rxe_counter() { cat "/sys/class/infiniband/rxe0/ports/1/hw_counters/$1"; }
