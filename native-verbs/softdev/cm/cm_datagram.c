/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA_PS_UDP: a client asks the listener of a port for the queue pair that takes its datagrams. The answer arrives as
 * RDMA_CM_EVENT_ESTABLISHED with the address, or as RDMA_CM_EVENT_UNREACHABLE; neither end keeps state afterwards.
 */
#include <errno.h>
#include <string.h>

#include "cm/cm.h"

enum { HOP_LIMIT = 64 };

void cm_fill_path(const struct cm_id *id, struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->is_global = 1;
	attr->port_num = id->id.port_num;
	attr->grh.dgid = id->path.dgid;
	attr->grh.sgid_index = cm_source_gid_index(id);
	attr->grh.hop_limit = HOP_LIMIT;
	attr->grh.traffic_class = id->type_of_service;
}

int cm_datagram_status(int reject_reason)
{
	return reject_reason == CM_REJECT_NO_LISTENER ? CM_DATAGRAM_UNSUPPORTED : CM_DATAGRAM_REJECTED;
}

void cm_datagram_reply(struct cm_id *id, const struct cm_reply *reply)
{
	struct cm_event *event = cm_new_event(id, id, RDMA_CM_EVENT_ESTABLISHED, 0);

	cm_end(id, link_close_after_flush, CM_CONNECTED);
	if (!event)
		return;
	cm_set_private_data(event, reply->private_data, CM_DATAGRAM_REPLY_PRIVATE_DATA);
	cm_fill_path(id, &event->event.param.ud.ah_attr);
	event->event.param.ud.qp_num = reply->queue_pair.number;
	event->event.param.ud.qkey = reply->qkey;
	cm_push_event(event);
}

void cm_datagram_reject(struct cm_id *id, int reason, const struct cm_reject *reject)
{
	struct cm_event *event =
		cm_new_event(id, id, RDMA_CM_EVENT_UNREACHABLE, cm_datagram_status(reason));

	cm_end(id, link_close_after_flush, CM_CLOSED);
	if (!event)
		return;
	cm_set_private_data(event, reject->private_data, CM_DATAGRAM_REPLY_PRIVATE_DATA);
	cm_push_event(event);
}

int cm_send_datagram_reply(struct cm_id *id, void *argument)
{
	const struct rdma_conn_param *param = argument;
	struct cm_reply reply = {.queue_pair = id->local, .qkey = RDMA_UDP_QKEY};
	struct frame frame = {.op = CM_FRAME_REPLY, .length = sizeof(reply)};

	if (id->state != CM_REQUEST_RECEIVED)
		return -EINVAL;
	if (param && param->private_data_len)
		memcpy(reply.private_data, param->private_data, param->private_data_len);
	if (id->link)
		link_send(id->link, &frame, &reply, NULL, 0);
	cm_end(id, link_close_after_flush, CM_CONNECTED);
	return 0;
}
