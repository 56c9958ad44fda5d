#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rdma_cm for datagrams: udaddy, and perftest's UD mode with -R.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need udaddy
need ib_send_bw

# Others on this host may use the one port that udaddy knows.
own="$(($$ / 256 % 256)).$(($$ % 256))"
start_server udaddy -b "127.7.$own" -c 3 -C 50 -S 2000
wait_until cm_listens 7174
run_client udaddy -c 3 -C 50 -S 2000 -s "127.7.$own"
join_server

for program in ib_send_bw ib_send_lat; do
  port=$(free_port)
  start_server "$program" -d softv0 -x 1 -c UD -R -n 200 -s 1024 -p "$port"
  wait_until cm_listens "$port"
  run_client "$program" -d softv0 -x 1 -c UD -R -n 200 -s 1024 -p "$port" localhost
  join_server
  grep -q '^ *[0-9][0-9]* *[0-9]' "$work/client.log" || fail "$program printed no result"
done
