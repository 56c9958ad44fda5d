#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libfabric's verbs provider on the device: fi_info, and fi_pingpong with its data checked over each kind of endpoint, on one host and between two.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need fi_pingpong
need_dev

# libfabric's msg endpoints are of addresses that are not loopback ones.
need_address() {
  [ -n "$(hostname -I)" ] || skip "this host has only loopback addresses"
}

provider() {
  need_address
  timeout -k 2 20 "$softverbs" --dev fi_info -p verbs >"$work/info.log" 2>&1 || fail "fi_info -p verbs"
  for type in FI_EP_MSG FI_EP_DGRAM FI_EP_RDM; do
    grep -q "type: $type" "$work/info.log" || fail "no endpoints of $type"
  done
}

fi_pingpong_with() {
  pair tcp_listens --dev fi_pingpong -c -I 20 -B PORT "$@" -- --dev fi_pingpong -c -I 20 -P PORT "$@" "$server_address"
  expect_line '^4k '
}

connected_pingpong() {
  need_address
  fi_pingpong_with "$@"
}

server_address=127.0.0.1
try "fi_info" provider
try "msg" connected_pingpong -p verbs -e msg
try "dgram" fi_pingpong_with -p verbs -e dgram
try "rdm over msg (rxm)" connected_pingpong -p 'verbs;ofi_rxm' -e rdm
try "rdm over dgram (rxd)" fi_pingpong_with -p 'verbs;ofi_rxd' -e rdm

use_hosts
server_address=10.77.0.10
try "two hosts, msg" fi_pingpong_with -p verbs -e msg
try "two hosts, dgram" fi_pingpong_with -p verbs -e dgram
try "two hosts, rdm over msg (rxm)" fi_pingpong_with -p 'verbs;ofi_rxm' -e rdm
try "two hosts, rdm over dgram (rxd)" fi_pingpong_with -p 'verbs;ofi_rxd' -e rdm
verdict
