/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint calls, which create a synchronous id from the result of rdma_getaddrinfo(). */
#include <errno.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"

enum { RESOLVE_TIMEOUT_MS = 2000 };

static int open_passive(struct cm_id *id, const struct rdma_addrinfo *address, struct ibv_pd *pd,
			const struct ibv_qp_init_attr *attr)
{
	if (softverbs_rdma_bind_addr(&id->id, address->ai_src_addr))
		return -1;
	if (pd)
		id->id.pd = pd;
	if (attr) {
		id->has_request_attr = true;
		id->request_attr = *attr;
		id->request_attr.qp_type = (enum ibv_qp_type)address->ai_qp_type;
	}
	return 0;
}

static int open_active(struct cm_id *id, const struct rdma_addrinfo *address, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *attr)
{
	if (softverbs_rdma_resolve_addr(&id->id, address->ai_src_addr, address->ai_dst_addr,
					RESOLVE_TIMEOUT_MS) ||
	    softverbs_rdma_resolve_route(&id->id, RESOLVE_TIMEOUT_MS))
		return -1;
	if (!attr)
		return 0;
	attr->qp_type = (enum ibv_qp_type)address->ai_qp_type;
	return softverbs_rdma_create_qp(&id->id, pd, attr);
}

int softverbs_rdma_create_ep(struct rdma_cm_id **id_out, struct rdma_addrinfo *address,
			     struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *id;
	int error;

	if (cm_open_id(NULL, &id, NULL, (enum rdma_port_space)address->ai_port_space,
		       (enum ibv_qp_type)address->ai_qp_type))
		return -1;
	error = address->ai_flags & RAI_PASSIVE ? open_passive(to_cm_id(id), address, pd, attr)
						: open_active(to_cm_id(id), address, pd, attr);
	if (error) {
		error = -errno;
		softverbs_rdma_destroy_id(id);
		return cm_result(error);
	}
	*id_out = id;
	return 0;
}

void softverbs_rdma_destroy_ep(struct rdma_cm_id *id)
{
	softverbs_rdma_destroy_qp(id);
	softverbs_rdma_destroy_srq(id);
	softverbs_rdma_destroy_id(id);
}

int softverbs_rdma_get_request(struct rdma_cm_id *public_listener, struct rdma_cm_id **id)
{
	struct cm_id *listener = to_cm_id(public_listener);
	struct ibv_qp_init_attr attr = listener->request_attr;
	struct rdma_cm_event *event;
	int error;

	if (!listener->sync)
		return cm_result(-EINVAL);
	cm_take_event(listener);
	if (softverbs_rdma_get_cm_event(public_listener->channel, &event))
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		softverbs_rdma_ack_cm_event(event);
		return cm_result(-EINVAL);
	}
	if (listener->has_request_attr &&
	    softverbs_rdma_create_qp(event->id, public_listener->pd, &attr)) {
		error = -errno;
		softverbs_rdma_destroy_id(event->id);
		softverbs_rdma_ack_cm_event(event);
		return cm_result(error);
	}
	*id = event->id;
	(*id)->event = event;
	return 0;
}
