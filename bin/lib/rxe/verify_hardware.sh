#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe: bin/verify-hardware on rxe0 with files on ext4, and then without what it needs. Its report
# must hold what it promises, and each refusal must be explained.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
. "$ROOT/bin/lib/rxe/built.sh"
# Without current jars bin/verify-hardware would build them here.
need_jars
# A handshake takes long on emulated processors.
patience=spark.shuffle.rdma.connectTimeout=60s
said=/tmp/said
export JAVA_TOOL_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ErrorFile=$RXE_SHARED/hs_err.log"

# expect STATUS TEXT COMMAND...: COMMAND must end with STATUS and print TEXT.
expect() {
  local wanted=$1 text=$2 status=0
  shift 2
  "$@" >"$said" 2>&1 || status=$?
  cat "$said"
  [ "$status" = "$wanted" ] || { echo "FAIL status $status, not $wanted: $*"; exit 1; }
  has "$said" "$text"
}

# has FILE TEXT...: FILE must contain each TEXT.
has() {
  local file=$1 text
  shift
  for text in "$@"; do
    grep -qF -- "$text" "$file" || { echo "FAIL no '$text' in $file"; exit 1; }
  done
}

make_ext4() {
  modprobe -a loop ext4
  truncate -s 320M /tmp/ext4.image
  mkfs.ext4 -q /tmp/ext4.image
  mkdir -p /mnt/ext4
  mount -o loop /tmp/ext4.image /mnt/ext4
  chmod 1777 /mnt/ext4
}

# address_pattern: Prints an expression for the IP addresses of eth0 and its MAC.
address_pattern() {
  { ip -o addr show dev eth0 | awk '{ print $4 }' | cut -d / -f 1; cat /sys/class/net/eth0/address; } | sed 's/\./\\./g' | paste -sd '|'
}

# make_another_device: Makes a device whose name comes before that of rxe0, on a network of its own.
make_another_device() {
  modprobe dummy
  ip link add dummy0 type dummy
  ip addr add 10.8.0.1/24 dev dummy0
  ip link set dummy0 up
  rdma link add another0 type rxe netdev dummy0
}

# Without --device, the device of the host's own address is taken.
report_holds_what_it_promises() {
  local report=$RXE_SHARED/verify-hardware.txt dirtied=0
  expect 0 'everything that the plugin needs is proven' env SPARK_LOCAL_IP="$RXE_ADDRESS" \
    "$ROOT/bin/verify-hardware" --dir /mnt/ext4 --size 40m --report "$report" --conf "$patience"
  has "$report" '"proven": true' "\"kernel\": \"$RXE_KERNEL\"" '"device": "rxe0"' 'ext4 at /mnt/ext4' 'no DAX' \
    "the kernel's own ib_core" 'libibverbs.so' '"IOMMU": "off' '"port 1": "ACTIVE' \
    '"interface of port 1": "eth0, MTU 9000' '"link of port 1": "4: ACTIVE' 'RoCE v2 of IPv4' '(type RoCE v2), MTU 4096' \
    'default_roce_mode RoCE v2' 'tc/1/traffic_class not readable' 'ECN notification point not readable' \
    "the canary's right bytes" us_per_further_mib '"depth": 32' '"p99_us"' '"rcvd_pkts": {' \
    register_ms_per_gib register_cpu_s_per_gib deregister_ms_per_gib file_mb_per_s anonymous_mb_per_s \
    '"regions": 10000' '"status": "RETRY_EXC_ERR"' '"status": "no completion"' 'two hosts'
  # soft-RoCE of Linux 7 has on-demand paging that is wrong within a page.
  ! grep ' FAILED' "$report" | grep -v '^  on-demand paging  *FAILED (optional): a READ of .* brought other bytes' ||
    { echo "FAIL something failed"; exit 1; }
  ! grep -E "$(hostname)|$(address_pattern)" "$report" || { echo "FAIL the report tells a name or address"; exit 1; }
  # Up to Linux 6.1 registration makes every page of the file dirty, later it makes none dirty.
  case $RXE_KERNEL in 5.* | 6.1.*) dirtied=$((40 << 20)) ;; esac
  has "$report" "\"dirtied_bytes\": $dirtied,"
  if grep -q 'on-demand paging yes' "$report"; then
    has "$report" first_mb_per_s
  else
    has "$report" 'the device does not offer it'
  fi
}

make_ext4
# The kernel's defaults for RoCE can be read once configfs is mounted and the device has a folder in it.
modprobe configfs
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
mkdir -p /sys/kernel/config/rdma_cm/rxe0
make_another_device
report_holds_what_it_promises
rdma link delete another0
echo "PASS the report of rxe0 on $RXE_KERNEL"
expect 2 'device mlx5_9 is not present; this host has rxe0' "$ROOT/bin/verify-hardware" --device mlx5_9 --dir /mnt/ext4 --report /tmp/wrong.txt
has /tmp/wrong.txt 'FAILED: device mlx5_9' 'rxe0:1 is 4: ACTIVE'
echo "PASS a wrong name is refused"
# User 65534 must reach the build, whose folders may be closed to other users.
folder=$ROOT
while [ "$folder" != / ]; do
  chmod o+x "$folder"
  folder=$(dirname "$folder")
done
ulimit -l 8192
expect 2 'the limit of locked memory is 8192 KiB' setpriv --reuid 65534 --regid 65534 --clear-groups \
  "$ROOT/bin/verify-hardware" --device rxe0 --dir /mnt/ext4 --report /tmp/of-nobody.txt
has /tmp/of-nobody.txt 'soft 8192 KiB, hard 8192 KiB; no CAP_IPC_LOCK'
echo "PASS a small limit of locked memory is refused"
ip link set eth0 down
expect 2 'rxe0:1 is 1: DOWN' "$ROOT/bin/verify-hardware" --device rxe0 --dir /mnt/ext4 --report /tmp/down.txt
echo "PASS a port that is down is refused"
rdma link delete rxe0
expect 2 'no RDMA device' "$ROOT/bin/verify-hardware" --dir /mnt/ext4 --report /tmp/without.txt
has /tmp/without.txt 'RDMA devices             none'
echo "PASS a host without a device is refused"
