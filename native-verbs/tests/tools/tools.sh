# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the tests of the distribution's tools share: programs run through bin/softverbs, two at a time where they
# need a peer, each with a time limit; the counters of the device (SOFTVERBS_STATS) prove the path that was taken.
# With server_host and client_host set they run on those hosts of bin/hosts, and server_name is the server's address; server_as
# and client_as are words before the command (as another user, say).
set -eu

bin=$(dirname -- "$(readlink -f -- "$0")")/../../../bin
softverbs=$bin/softverbs
server_host='' client_host='' server_as='' client_as='' server_name=localhost failed_cases=0
work=$(mktemp -d)
server=
trap 'end_server; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM # the shell ends without the EXIT trap otherwise
export SOFTVERBS_STATS="$work/stats"

fail() {
  echo "failed: $*" >&2
  for log in "$work"/*.log; do
    [ -e "$log" ] && sed "s|^|$(basename "$log"): |" "$log" >&2
  done
  exit 1
}

end_server() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    server=
  fi
}

# need PROGRAM...
need() {
  for program; do
    command -v "$program" >/dev/null 2>&1 ||
      skip "$program is not installed (ibverbs-utils, rdmacm-utils, perftest, ucx-utils, libfabric-bin, fio, qperf, openmpi-bin, qemu-system-x86)"
  done
}

# A port that is free now, both of TCP and of UDP, of which rdma_cm takes one. It is of the range of this slot of
# tests/run, so that tests that run side by side never draw the same one.
free_port() {
  while :; do
    drawn=$((20000 + ${TEST_SLOT:-0} % 8 * 1500 + $(od -An -N2 -tu2 /dev/urandom) % 1500))
    tcp_listens "$drawn" || udp_bound "$drawn" || break
  done
  echo "$drawn"
}

# True once some process on the server's host listens on that TCP port.
tcp_listens() {
  on_host "$server_host" cat /proc/net/tcp /proc/net/tcp6 | grep -qi ":$(printf %04X "$1") [0-9A-F]*:0000 0A"
}

# on_host HOST CMD...: CMD on that host, or here if HOST is empty.
on_host() {
  where=$1
  shift
  if [ -n "$where" ]; then "$bin/hosts" on "$where" "$@"; else "$@"; fi
}

udp_bound() {
  on_host "$server_host" cat /proc/net/udp /proc/net/udp6 | grep -qi ":$(printf %04X "$1") [0-9A-F]*:0000 07"
}

# True once the server listens on that port of rdma_cm. Its socket is bound before that, and refuses.
cm_listens() {
  grep -q "cm: listens on port $1\$" "$work/server.log"
}

# within SECONDS CMD...: tries it until it succeeds; false after that time.
within() {
  tries=$(($1 * 50))
  shift
  until "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 0.02
  done
}

# wait_until CONDITION ARGUMENT: up to 10 s, and only while the server runs.
wait_until() {
  within 10 true_or_ended "$@" || fail "the server does not listen"
  "$@" || fail "the server ended early"
}

true_or_ended() {
  "$@" || ! kill -0 "$server" 2>/dev/null
}

start_server() {
  # shellcheck disable=SC2086
  SOFTVERBS_LOG=info timeout -k 2 "${limit:-60}" ${server_host:+"$bin/hosts" on "$server_host"} $server_as "$softverbs" "$@" \
    >"$work/server.log" 2>&1 &
  server=$!
}

run_client() {
  # shellcheck disable=SC2086
  timeout -k 2 "${limit:-60}" ${client_host:+"$bin/hosts" on "$client_host"} $client_as "$softverbs" "$@" >"$work/client.log" 2>&1 ||
    fail "client: $* (status $?)"
}

# use_hosts: two hosts of bin/hosts for this test, node0 for servers; a skip where they cannot be had.
use_hosts() {
  [ "$(id -u)" = 0 ] || skip "network namespaces need root"
  RDMA_HOSTS=t$$
  export RDMA_HOSTS
  trap 'end_server; "$bin/hosts" down; rm -rf "$work"' EXIT
  "$bin/hosts" up 2 2>"$work/up.log" || {
    grep -q 'this kernel\|this container' "$work/up.log" || fail "bin/hosts up 2"
    skip "$(tail -n 1 "$work/up.log")"
  }
  # shellcheck disable=SC2034
  server_host=node0 client_host=node1 server_name=node0
}

skip() {
  echo "$*" >&2
  exit 77
}

# need_dev: a skip where the files of --dev cannot be had.
need_dev() {
  "$softverbs" --dev true 2>"$work/dev.log" || skip "$(tail -n 1 "$work/dev.log")"
}

# try NAME CMD...: one case of several, with its own verdict; tests/run passes it on. A test that uses it ends with `verdict`.
try() {
  name=$1
  shift
  rm -f "$work"/*.log "$SOFTVERBS_STATS"
  status=0
  (
    trap end_server EXIT
    "$@"
  ) >"$work/case" 2>&1 || status=$?
  case $status in
    0) echo "PASS $(basename "$0" _test.sh): $name" ;;
    77) echo "SKIP $(basename "$0" _test.sh): $name: $(tail -n 1 "$work/case")" ;;
    *)
      echo "FAIL $(basename "$0" _test.sh): $name"
      sed 's/^/    /' "$work/case"
      failed_cases=$((failed_cases + 1)) ;;
  esac
}

verdict() {
  [ "$failed_cases" = 0 ]
  exit
}

# The server must end by itself, and well.
join_server() {
  wait "$server" || fail "the server ended with status $?"
  server=
}

# pair LISTENS SERVER... -- CLIENT...: a program with its peer, which starts once LISTENS (cm_listens, tcp_listens) is true of the
# server; both must end well. PORT in their words stands for $fixed_port or, if that is empty, for a free port. No word may have a
# space.
fixed_port=''
pair() {
  listens=$1 server_words='' port=${fixed_port:-$(free_port)}
  shift
  while [ "$1" != -- ]; do
    server_words="$server_words $1"
    shift
  done
  shift
  # shellcheck disable=SC2046,SC2086
  start_server $(with_port $server_words)
  wait_until "$listens" "$port"
  # shellcheck disable=SC2046
  run_client $(with_port "$@")
  join_server
}

with_port() {
  printf '%s\n' "$*" | sed "s/PORT/$port/g"
}

# expect_line PATTERN: the client has said it.
expect_line() {
  grep -q -- "$1" "$work/client.log" || fail "the client did not say '$1'"
}

# perftest PROGRAM ARGUMENTS...: both ends with the same arguments.
perftest() {
  # With -z the ends meet by rdma_cm alone; otherwise over TCP, even where -R has the queue pairs connected by rdma_cm.
  case " $* " in
    *' -z '*) meet=cm_listens ;;
    *' -R '*) meet=cm_or_tcp_listens ;;
    *) meet=tcp_listens ;;
  esac
  program=$1
  shift
  pair $meet "$program" -d softv0 -x 1 -F -p PORT "$@" -- "$program" -d softv0 -x 1 -F -p PORT "$@" "$server_name"
  expect_line '^ *[0-9][0-9]* *[0-9]'
}

cm_or_tcp_listens() {
  cm_listens "$1" || tcp_listens "$1"
}

# perftest_each: a case for each line of the input.
perftest_each() {
  while read -r program arguments; do
    # shellcheck disable=SC2086
    try "$program${arguments:+ $arguments}" perftest "$program" $arguments
  done
}

# pingpong PROGRAM ARGUMENTS...: an example program of libibverbs on both ends.
pingpong() {
  program=$1
  shift
  pair tcp_listens "$program" -g 1 -p PORT "$@" -- "$program" -g 1 -p PORT "$@" "$server_name"
  expect_line 'iters in'
}

# rping_at ADDRESS ARGUMENTS...: SENDs, READs and WRITEs, whose data both ends verify.
rping_at() {
  pair cm_listens rping -s -C 50 -V -p PORT -a "$@" -- rping -c -C 50 -V -p PORT -a "$@"
}

# ucmatose_at ADDRESS ARGUMENTS...: many connections of rdma_cm, with all of their events.
ucmatose_at() {
  address=$1
  shift
  pair cm_listens ucmatose -b "$address" -p PORT -c 8 -C 10 -S 256 "$@" -- \
    ucmatose -s "$address" -p PORT -c 8 -C 10 -S 256 "$@"
  expect_line 'return status 0'
}

# udaddy_at ADDRESS ARGUMENTS...: datagrams by rdma_cm; udaddy knows a single port.
udaddy_at() {
  address=$1
  shift
  fixed_port=7174
  pair cm_listens udaddy -b "$address" "$@" -- udaddy -s "$address" "$@"
  fixed_port=
  expect_line 'return status 0'
}

# counter NAME: its sum over the processes that wrote statistics.
counter() {
  grep -o "\"$1\": *[0-9]*" "$SOFTVERBS_STATS" | awk -F: '{ sum += $2 } END { print sum + 0 }'
}

# expect_reads PATH: READs were done, and all by that path.
expect_reads() {
  for path in file cma wire; do
    reads=$(counter "reads_$path")
    if [ "$path" = "$1" ]; then
      [ "$reads" -gt 0 ] || fail "no READ by $path: $(cat "$SOFTVERBS_STATS")"
    else
      [ "$reads" -eq 0 ] || fail "$reads READs by $path instead of $1"
    fi
  done
  rm -f "$SOFTVERBS_STATS"
}
