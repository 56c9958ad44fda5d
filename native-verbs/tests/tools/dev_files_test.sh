#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bin/softverbs --dev: files in /dev and /sys say what the device says, for this program alone; the rest of both is there as before;
# as another user too.
# shellcheck source-path=SCRIPTDIR disable=SC2016,SC2317
. "$(dirname "$0")/tools.sh"
need ibv_devinfo

see() { timeout -k 2 20 "$softverbs" --dev "$@" >"$work/see.log" 2>&1; }

files_are_there() {
  see sh -c 'for name in softv0 uverbs0 rdma_cm; do
      [ -c /dev/infiniband/$name ] && [ -r /dev/infiniband/$name ] && [ -w /dev/infiniband/$name ] || exit 1
    done
    echo >/dev/null && : </dev/zero && [ -d /dev/shm ] && [ -e /sys/class/net/lo/mtu ]' || fail "a device file is missing"
  see grep -rh . /sys/class/infiniband/softv0/ports/1/state /sys/class/infiniband/softv0/ports/1/link_layer || fail "no port"
  [ "$(cat "$work/see.log")" = "4: ACTIVE
Ethernet" ] || fail "the port is not active Ethernet"
}

says_what_the_device_says() {
  timeout 20 "$softverbs" ibv_devinfo -v >"$work/devinfo.log" 2>&1 || fail "ibv_devinfo"
  see cat /sys/class/infiniband/softv0/node_guid /sys/class/infiniband_verbs/uverbs0/ibdev || fail "node_guid"
  [ "$(cat "$work/see.log")" = "$(sed -n 's/.*node_guid:[[:space:]]*//p' "$work/devinfo.log")
softv0" ] || fail "another node_guid or device than ibv_devinfo's"
    see sh -c 'cd /sys/class/infiniband/softv0/ports/1 && for gid in gids/*; do
      echo "$(cat $gid) $(cat gid_attrs/types/${gid#gids/}) $(cat gid_attrs/ndevs/${gid#gids/})"
    done | sort' || fail "GIDs"
  [ "$(wc -l <"$work/see.log")" -eq "$(grep -c 'GID\[' "$work/devinfo.log")" ] || fail "not as many GIDs as ibv_devinfo has"
  grep -q '^0000:0000:0000:0000:0000:ffff:7f00:0001 RoCE v2 lo$' "$work/see.log" || fail "the loopback GID is missing"
}

is_private() {
  see true || fail "status $?"
  for file in /dev/infiniband/softv0 /sys/class/infiniband/softv0; do
    [ ! -e "$file" ] || fail "$file is visible outside"
  done
}

# The libraries in a place that the other user may read.
works_for_other_users() {
  [ "$(id -u)" = 0 ] || skip "only root can become another user"
  chmod 755 "$work"
  cp -r "$bin/../native-verbs/target/lib" "$work/lib"
  timeout 20 setpriv --reuid 65534 --regid 65534 --clear-groups env LD_LIBRARY_PATH="$work/lib/softverbs" \
    "$work/lib/softverbs/softverbs-dev" sh -c '[ -c /dev/infiniband/uverbs0 ] && [ "$(id -u)" = 65534 ] && ibv_devinfo' \
    >"$work/see.log" 2>&1 || {
    ! grep -q 'lets only root make' "$work/see.log" || skip "users may not make user namespaces here"
    fail "as another user"
  }
}

passes_status_on() {
  status=0
  see sh -c 'exit 7' || status=$?
  [ "$status" -eq 7 ] || fail "status $status instead of 7"
}

try "device files and the rest of /dev and /sys" files_are_there
try "what the files say" says_what_the_device_says
try "nothing outside" is_private
try "other users" works_for_other_users
try "exit status" passes_status_on
verdict
