#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe: the commands of docs/roce.md that its page says were run, on rxe0 and eth0.
set -euo pipefail
failed=0

# check NAME COMMAND: Prints PASS, or FAIL with the command's output.
check() {
  local output
  if output=$(eval "$2" 2>&1); then
    echo "PASS $1"
  else
    echo "FAIL $1"
    echo "    ${output//$'\n'/$'\n'    }"
    failed=1
  fi
}

[ -n "${RXE_GUEST:-}" ] || { echo "it changes the host's network: run it with bin/rxe run" >&2; exit 2; }
modprobe configfs
modprobe 8021q
config=/sys/kernel/config port=/sys/class/infiniband/rxe0/ports/1
check "ibv_devinfo lists GIDs" "ibv_devinfo -v | grep -q 'GID\\[ *[01]\\]:.*$RXE_ADDRESS'"
check "configfs is mounted" "mountpoint -q $config || mount -t configfs none $config"
check "rdma_cm shows a device" "mkdir -p $config/rdma_cm/rxe0"
check "the default RoCE version is 2" "grep -x 'RoCE v2' $config/rdma_cm/rxe0/ports/1/default_roce_mode"
check "it can be set" "echo 'RoCE v2' > $config/rdma_cm/rxe0/ports/1/default_roce_mode"
check "the type of service can be set" \
  "echo 104 > $config/rdma_cm/rxe0/ports/1/default_roce_tos && grep -x 104 $config/rdma_cm/rxe0/ports/1/default_roce_tos"
# Reading the type of an unused index fails.
check "GIDs have types" "{ cat $port/gid_attrs/types/* 2>/dev/null || true; } | grep 'RoCE v2'"
check "rdma link shows the port" "rdma link show rxe0/1 | grep -q 'state ACTIVE'"
check "the RDMA MTU follows the interface's" \
  "ip link set eth0 mtu 1500 && rdma link show rxe0/1 && ibv_devinfo -d rxe0 | grep 'active_mtu.*1024' &&
   ip link set eth0 mtu 4200 && ibv_devinfo -d rxe0 | grep 'active_mtu.*4096'"
check "ARP can be kept to the right interface" "sysctl net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"
check "a VLAN's address is a GID" \
  "ip link add link eth0 name eth0.5 type vlan id 5 && ip addr add 10.5.0.1/24 dev eth0.5 && ip link set eth0.5 up &&
   sleep 1 && ibv_devinfo -v | grep '10.5.0.1'"
check "the device has error counters" "rdma statistic show link rxe0/1 | grep -q 'rcvd_seq_err.*retry_exceeded_err\\|retry_exceeded_err.*rcvd_seq_err'"
exit "$failed"
