#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ibv_devices and ibv_devinfo -v show one active device with its port and GIDs.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
need ibv_devinfo

run_client ibv_devices
grep -q softv0 "$work/client.log" || fail "ibv_devices does not list softv0"
run_client ibv_devinfo -v
for text in 'hca_id:.*softv0' 'state:.*PORT_ACTIVE' 'active_mtu:.*4096' 'link_layer:.*Ethernet' 'GID\[ *1\]:.*RoCE v2' \
  'max_qp_rd_atom:.*16' 'atomic_cap:.*ATOMIC_HCA'; do
  grep -q "$text" "$work/client.log" || fail "ibv_devinfo -v does not say '$text'"
done
