#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Peers whose memory the kernel does not let each other read: another user with the secret, a user namespace, pid namespaces. READs
# succeed all the same, and by the path that remains. Another user without the secret is refused.
# shellcheck source-path=SCRIPTDIR disable=SC2317,SC2034
. "$(dirname "$0")/tools.sh"
need ib_read_bw rping
[ "$(id -u)" = 0 ] || skip "only root can become other users"

# Programs and libraries where every user may read them.
chmod 755 "$work"
cp -r "$bin/../native-verbs/target/lib" "$work/lib"
softverbs=$work/softverbs
cat >"$softverbs" <<SCRIPT
#!/bin/sh
export LD_LIBRARY_PATH=$work/lib/softverbs
exec "\$@"
SCRIPT
chmod 755 "$softverbs"
# Not 65534, which in a user namespace stands for all users that are not mapped there, so that it is nobody there.
user_a="setpriv --reuid 65532 --regid 65532 --clear-groups"
user_b="setpriv --reuid 65533 --regid 65533 --clear-groups"

# reads PATH: READs by raw queue pairs and by rdma_cm, by that path or one of a list.
reads() {
  : >"$SOFTVERBS_STATS"
  chmod 666 "$SOFTVERBS_STATS"
  perftest ib_read_bw -n 50 -s 65536 -e
  expect_reads "$1"
  rping_at 127.0.0.1
}

between_users() {
  server_as=$user_a client_as=$user_b SOFTVERBS_SECRET="known to both users"
  export SOFTVERBS_SECRET
  reads wire
}

user_and_root() {
  server_as=$user_a SOFTVERBS_SECRET="known to both users"
  export SOFTVERBS_SECRET
  reads wire
}

without_a_secret() {
  server_as=$user_a client_as=$user_b
  port=$(free_port)
  start_server ib_read_bw -d softv0 -x 1 -F -p "$port" -n 50
  wait_until tcp_listens "$port"
  status=0
  # shellcheck disable=SC2086
  timeout -k 2 30 $client_as "$softverbs" ib_read_bw -d softv0 -x 1 -F -p "$port" -n 50 localhost >"$work/client.log" 2>&1 || status=$?
  case $status in 0 | 124) fail "status $status" ;; esac
}

same_user() {
  server_as=$user_a client_as=$user_a
  reads cma
}

# As under Yama or in a sandbox: process_vm_readv is refused.
user_namespace() {
  server_as=$user_a client_as="$user_a unshare --user --map-current-user"
  $client_as true 2>"$work/unshare.log" || skip "users may not make user namespaces here"
  reads wire
}

pid_namespace() {
  server_as=$1 client_as=$2
  reads "$3"
}

separate="unshare --pid --fork --kill-child"
try "two users with a secret" between_users
try "a user and root with a secret" user_and_root
try "two users without a secret" without_a_secret
try "one user" same_user
try "one user, the reader in a user namespace" user_namespace
try "the reader in a pid namespace" pid_namespace '' "$separate" wire
try "both in pid namespaces" pid_namespace "$separate" "$separate" wire
try "the owner in a pid namespace" pid_namespace "$separate" '' cma
verdict
