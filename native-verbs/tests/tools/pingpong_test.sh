#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ibv_rc_pingpong, ibv_uc_pingpong, ibv_srq_pingpong and ibv_ud_pingpong between two processes, by events and by polling, with
# payloads checked.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ibv_rc_pingpong

while read -r program arguments; do
  # shellcheck disable=SC2086
  try "$program $arguments" pingpong "$program" -c $arguments
done <<'LIST'
ibv_rc_pingpong -e -n 1000
ibv_rc_pingpong -e -n 200 -s 65536
ibv_rc_pingpong -n 20
ibv_uc_pingpong -e -n 200 -s 65536
ibv_srq_pingpong -e -n 1000 -q 4
ibv_srq_pingpong -n 20
ibv_ud_pingpong -n 500
ibv_ud_pingpong -n 200 -e -g 0
ibv_ud_pingpong -n 200 -s 4096
LIST
verdict
