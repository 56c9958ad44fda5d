/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of higher folders the lower ones call: the only file that may look at all of them. */
#include "cm/cm.h"
#include "datagram/ud.h"
#include "device/device.h"
#include "link/link.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "queue/qp.h"
#include "transport/file_share.h"
#include "transport/transport.h"

void (*const device_operations[])(struct verbs_context *verbs) = {
	query_set_ops, pd_set_ops, advice_set_ops, cq_set_ops, qp_set_ops, srq_set_ops, mw_set_ops, NULL,
};

void (*const mr_file_revoked)(void) = file_share_revoke;

void (*const link_incoming[LINK_KINDS])(struct link *link) = {
	[LINK_KIND_QP] = qp_on_incoming_link,
	[LINK_KIND_CM] = cm_on_incoming_link,
};

const struct qp_transport *const qp_transports[IBV_QPT_UD + 1] = {
	[IBV_QPT_RC] = &connected_transport,
	[IBV_QPT_UC] = &connected_transport,
	[IBV_QPT_UD] = &datagram_transport,
};
