#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in both guests of a pair with two interfaces: the cluster doctor on soft-RoCE, as the guests are and with faults that guest 2 makes.
# It must connect and READ both ways, and say what is wrong, on the device and in the files of /sys of a real kernel. Between guests,
# READs of 1 MiB, eight at a time, lose so many packets that their ways are no good, so that nothing is asked of them here.
# shellcheck disable=SC2154 # prepare_cluster.sh writes doctor and doctor_second
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
CONFIGFS=/sys/kernel/config
wrong=0

# fault NAME: Has guest 2 make the fault, and waits until it has.
fault() {
  touch "$RXE_SHARED/make-$1"
  await "the fault $1" test -e "$RXE_SHARED/made-$1"
}

# expect NAME TEXT COMMAND...: The doctor must print a line that matches each line of the text.
expect() {
  local name=$1 text=$2 status=0 line said=$RXE_SHARED/said-$1
  shift 2
  "$@" >"$said" 2>"$said.progress" || status=$?
  while IFS= read -r line; do
    if [ "$status" -le 1 ] && grep -qE "$line" "$said"; then
      echo "PASS $name: a line with '$line'"
    else
      echo "FAIL $name: status $status, or no line with '$line'"
      cat "$said.progress" "$said"
      wrong=1
    fi
  done <<<"$text"
}

lead() {
  expect good $'^  guest1 +guest2 +[0-9.]+ \n^  guest2 +guest1 +[0-9.]+ ' "${doctor[@]}"
  fault tos
  expect tos 'FAULT guest.* traffic class is (0|104), and that of others' "${doctor[@]}"
  fault mtu
  expect mtu 'FAULT guest.* interface MTU is [0-9]+, and that of others' "${doctor[@]}"
  ip addr add 10.9.1.1/24 dev eth1
  ip link set eth1 up
  rdma link add rxe1 type rxe netdev eth1
  fault no_address
  expect no_address 'FAULT guest2: .*address' "${doctor_second[@]}"
  touch "$RXE_SHARED/examined"
}

make_tos() {
  mountpoint -q $CONFIGFS || mount -t configfs none $CONFIGFS
  mkdir $CONFIGFS/rdma_cm/rxe0
  echo 104 >$CONFIGFS/rdma_cm/rxe0/ports/1/default_roce_tos
}
make_mtu() {
  echo 0 >$CONFIGFS/rdma_cm/rxe0/ports/1/default_roce_tos
  ip link set eth0 mtu 2200
}
make_no_address() {
  ip link set eth0 mtu 9000
  ip link set eth1 up
  ip addr flush dev eth1
  rdma link add rxe1 type rxe netdev eth1
}

follow() {
  local name
  for name in tos mtu no_address; do
    await "the fault $name" test -e "$RXE_SHARED/make-$name"
    "make_$name"
    touch "$RXE_SHARED/made-$name"
  done
  await "the last examination" test -e "$RXE_SHARED/examined"
}

start_cluster
if [ "$RXE_GUEST" = 1 ]; then lead; else follow; fi
[ "$wrong" = 0 ]
