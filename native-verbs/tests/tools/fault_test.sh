#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bin/softverbs --fault: an unmodified program is told to fail, by the path of its socket.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ib_read_bw perftest

port=$(free_port)
SOFTVERBS_FAULT_CONTROL="$work/server-%p" timeout 60 "$softverbs" ib_read_bw -p "$port" -D 30 >"$work/server.log" 2>&1 &
server=$!
wait_until tcp_listens "$port"
# A killed process leaves its socket file behind.
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$work/client"
SOFTVERBS_FAULT_CONTROL="$work/client" timeout 60 "$softverbs" ib_read_bw -p "$port" -D 30 localhost >"$work/client.log" 2>&1 &
client=$!

lists_rules() { "$softverbs" --fault "$work/client" list >"$work/list.log" 2>&1; }
within 10 lists_rules || fail "nobody listens at the control socket"
"$softverbs" --fault "$work"/server-* list >"$work/list.log" || fail "the name of the server does not have its process id"
status=0
"$softverbs" --fault "$work/client" set nowhere:drop >"$work/list.log" || status=$?
[ "$status" = 1 ] || fail "a mistake gives $status"
"$softverbs" --fault "$work/client" set read:status=REM_OP_ERR >"$work/list.log" || fail "the rule was refused"
status=0
wait "$client" || status=$?
[ "$status" != 0 ] || fail "the READ of the client did not fail"
[ ! -e "$work/client" ] || fail "the socket of an ended process is left behind"
grep -q 'Failed status 11' "$work/client.log" || fail "the client does not say why it failed"
status=0
"$softverbs" --fault "$work/nowhere" list >"$work/list.log" 2>&1 || status=$?
[ "$status" = 2 ] || fail "a process that is not there gives $status"
