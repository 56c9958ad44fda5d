#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# QEMU moves a running guest to another process by RDMA: its memory registered piece by piece, all at once, and between two
# hosts; and a target that is killed, which the guest survives where it is. Nothing boots in it but the firmware.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need qemu-system-x86_64
ldd "$(command -v qemu-system-x86_64)" | grep -q librdmacm || skip "this qemu-system-x86_64 has no RDMA"
need_dev

# guest HOST NAME ARGUMENTS...: a QEMU that takes commands from the pipe NAME.in; its process id is in $guest.
guest() {
  where=$1
  name=$2
  shift 2
  rm -f "$work/$name.in"
  mkfifo "$work/$name.in"
  SOFTVERBS_LOG=info timeout -k 2 200 ${where:+"$bin/hosts" on "$where"} "$softverbs" --dev qemu-system-x86_64 -machine pc,accel=tcg \
    -m "${memory:-64}" -display none -nodefaults -serial none -monitor stdio "$@" <"$work/$name.in" >"$work/$name.log" 2>&1 &
  guest=$!
}

# says NAME TEXT: within 90 s. The whole test took 6 to 12 s on a busy machine.
says() {
  within 90 grep -aq "$2" "$work/$1.log" || fail "$1 never said: $2"
}

end_guests() {
  exec 7>&- 8>&-
  kill "$source" "$target" 2>/dev/null || true
  wait "$source" "$target" || true
}

begin() {
  port=$(free_port)
  guest "$server_host" target -incoming "rdma:$server_address:$port"
  target=$guest
  guest "$client_host" source
  source=$guest
  trap end_guests EXIT
  exec 7>"$work/target.in" 8>"$work/source.in"
  says target "cm: listens on port $port"
  echo "migrate_set_capability rdma-pin-all $1" | tee /dev/fd/7 >&8
}

migrate() {
  begin "$1"
  echo "migrate rdma:$server_address:$port" >&8
  echo "info migrate" >&8
  says source 'Migration status: completed'
  echo "info status" >&7
  says target 'VM status: running'
  echo quit | tee /dev/fd/7 >&8
  wait "$source" || fail "the source ended with status $?"
  wait "$target" || fail "the target ended with status $?"
}

migration_failed() {
  echo "info migrate" >&8
  grep -aq 'Migration status: failed' "$work/source.log"
}

killed_target() {
  memory=1024
  begin on
  echo "migrate -d rdma:$server_address:$port" >&8
  says source 'connected to .* READs'
  pkill -KILL -P "$target" # what `timeout` runs
  within 10 migration_failed || fail "the source noticed nothing"
  echo "info status" >&8
  says source 'VM status: running'
}

server_address=127.0.0.1
try "piece by piece" migrate off
try "all memory registered" migrate on
try "a target that is killed" killed_target

use_hosts
server_address=10.77.0.10
try "two hosts" migrate on
verdict
