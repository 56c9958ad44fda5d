# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the tests of the distribution's tools share: programs run through bin/softverbs, two at a time where they
# need a peer, each with a time limit; the counters of the device (SOFTVERBS_STATS) prove the path that was taken.
set -eu

softverbs=$(dirname -- "$(readlink -f -- "$0")")/../../../bin/softverbs
work=$(mktemp -d)
server=
trap 'end_server; rm -rf "$work"' EXIT
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

need() {
  command -v "$1" >/dev/null 2>&1 || {
    echo "$1 is not installed (ibverbs-utils, rdmacm-utils, perftest)" >&2
    exit 77
  }
}

# A TCP port that is free now; awk draws it, so that tests that run side by side seldom meet.
free_port() {
  awk 'BEGIN { srand('"$$"' + systime()); print 20000 + int(rand() * 10000) }' 2>/dev/null ||
    echo $((20000 + $$ % 10000))
}

# True once some process listens on that TCP port.
tcp_listens() {
  grep -qi ":$(printf %04X "$1") [0-9A-F]*:0000 0A" /proc/net/tcp /proc/net/tcp6
}

# True once the server listens on that port of rdma_cm. Its socket is bound before that, and refuses.
cm_listens() {
  grep -q "cm: listens on port $1\$" "$work/server.log"
}

# wait_until CONDITION ARGUMENT: up to 10 s, and only while the server runs.
wait_until() {
  for _ in $(seq 100); do
    "$@" && return 0
    kill -0 "$server" 2>/dev/null || fail "the server ended early"
    sleep 0.1
  done
  fail "the server does not listen"
}

start_server() {
  SOFTVERBS_LOG=info timeout -k 2 60 "$softverbs" "$@" >"$work/server.log" 2>&1 &
  server=$!
}

run_client() {
  timeout -k 2 60 "$softverbs" "$@" >"$work/client.log" 2>&1 || fail "client: $* (status $?)"
}

# The server must end by itself, and well.
join_server() {
  wait "$server" || fail "the server ended with status $?"
  server=
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
