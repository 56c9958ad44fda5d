#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first process of a guest of bin/rxe once it sees the host's user land: brings up eth0 and rxe0 and runs the
# command. The run's folder, /run/rxe, holds `settings` (shell variables) and `command`; the guest writes `up`,
# `stdout`, `stderr` and `status` there.
set -u
power_off() { sync; echo o >/proc/sysrq-trigger; sleep 60; }
trap power_off EXIT
cd /run/rxe || exit
# shellcheck source=/dev/null
. ./settings
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 USER=root LOGNAME=root
export RXE_GUEST RXE_ADDRESS RXE_ADDRESS6 RXE_PEER RXE_PEER6 RXE_KERNEL RXE_SHARED=/run/rxe/shared

give_up() {
  echo "rxe: $*" >&2
  echo 125 >status
  exit
}

wait_for() {
  local what=$1 tries
  shift
  for ((tries = 0; tries < 300; tries++)); do
    "$@" && return
    sleep 0.1
  done
  give_up "no $what after 30 s"
}

gid_of_address() { grep -q ffff: /sys/class/infiniband/rxe0/ports/1/gids/1 2>/dev/null; }
device_files() { [ -c /dev/infiniband/uverbs0 ] && [ -c /dev/infiniband/rdma_cm ]; }

# Elsewhere udev does this.
make_links() {
  ln -s /proc/self/fd /dev/fd
  ln -s fd/0 /dev/stdin
  ln -s fd/1 /dev/stdout
  ln -s fd/2 /dev/stderr
}

# mount_tree TAG FOLDER: Makes a folder of the host the guest's, which may write to it as to the root file system.
mount_tree() {
  local layers=/run/trees/$1
  mkdir -p "$layers"/{host,upper,work} "$2"
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro "$1" "$layers/host" &&
    mount -t overlay -o "lowerdir=$layers/host,upperdir=$layers/upper,workdir=$layers/work" overlay "$2"
}

bring_up() {
  local tree
  make_links
  [ "$(uname -r)" = "$RXE_KERNEL" ] || give_up "booted kernel $(uname -r), not $RXE_KERNEL"
  for tree in "${!RXE_TREES[@]}"; do mount_tree "tree$tree" "${RXE_TREES[tree]}" || give_up "cannot mount ${RXE_TREES[tree]}"; done
  mkdir -p "/lib/modules/$RXE_KERNEL"
  mount --bind "$RXE_MODULES" "/lib/modules/$RXE_KERNEL" ||
    give_up "cannot see the kernel's modules: can the user who runs bin/rxe read all folders above $RXE_MODULES?"
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none shared shared || give_up "the shared folder"
  modprobe -a virtio_net rdma_rxe ib_uverbs rdma_ucm || give_up "modules of RDMA"
  hostname "guest$RXE_GUEST"
  printf '%s\n' '127.0.0.1 localhost' '::1 localhost' '10.9.0.1 guest1' '10.9.0.2 guest2' 'fd09::1 guest1-v6' \
    'fd09::2 guest2-v6' >/etc/hosts
  ip link set lo up
  wait_for "eth0" test -e /sys/class/net/eth0
  echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
  ip addr add "$RXE_ADDRESS/24" dev eth0
  ip addr add "$RXE_ADDRESS6/64" dev eth0
  ip link set eth0 up mtu 9000
  rdma link add rxe0 type rxe netdev eth0 || give_up "rxe0 could not be made on eth0"
  wait_for "GID of $RXE_ADDRESS" gid_of_address
  wait_for "/dev/infiniband" device_files
}

bring_up >>stderr 2>&1
[ ! -e status ] || exit
touch up
bash ./command </dev/null >stdout 2>>stderr
echo $? >status
