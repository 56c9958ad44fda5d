/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs of ids: their creation with the defaults of librdmacm, and the attributes that a connection gives them.
 */
#include <errno.h>
#include <string.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "exports.h"

enum {
	DEFAULT_ACK_TIMEOUT = 17, /* 4.096 us * 2^17 = 0.54 s */
	MIN_RNR_TIMER = 0,	  /* 655 ms, as in the kernel's cm_init_qp_rtr_attr(); rnr_retry_count relies on it */
	GID_INDEX_ROCE_V2 = 1,
	/* Attributes that an unreliable connection does not use, and that ibv_modify_qp() refuses for it. */
	RELIABLE_ONLY = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
};

/* Grants no remote access before there is a connection; afterwards the access that the kernel's CM grants. */
static void fill_init(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->qp_access_flags = 0;
	if (id->remote.number) {
		attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		if (id->local.responder_resources)
			attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	}
	attr->pkey_index = 0;
	attr->port_num = id->id.port_num;
	*mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
}

/* Returns the index of the GID table entry for the id's own address, as RoCE v2; an attribute has eight bits for it. */
uint8_t cm_source_gid_index(const struct cm_id *id)
{
	union ibv_gid gid, source;
	enum ibv_gid_type type;

	gid_from_address(&id->id.route.addr.src_addr, &source);
	for (int i = 0; i <= UINT8_MAX && i < gid_table_length(); i++)
		if (!gid_table_entry(i, &gid, &type) && type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(&gid, &source, sizeof(gid)))
			return (uint8_t)i;
	return GID_INDEX_ROCE_V2;
}

static void fill_ready_to_receive(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	cm_fill_path(id, &attr->ah_attr);
	attr->path_mtu = id->path.mtu;
	attr->dest_qp_num = id->remote.number;
	attr->rq_psn = id->remote.psn;
	attr->max_dest_rd_atomic = id->local.responder_resources;
	attr->min_rnr_timer = MIN_RNR_TIMER;
	*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

static void fill_ready_to_send(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->timeout = id->has_ack_timeout ? id->ack_timeout : DEFAULT_ACK_TIMEOUT;
	attr->retry_cnt = id->local.retry_count;
	attr->rnr_retry = id->remote.rnr_retry_count;
	attr->sq_psn = id->local.psn;
	attr->max_rd_atomic = id->local.initiator_depth;
	*mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
}

static int fill_datagram_attr(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask = IBV_QP_STATE;
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->pkey_index = 0;
		attr->port_num = id->id.port_num;
		attr->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
		return 0;
	case IBV_QPS_RTR:
		return 0;
	case IBV_QPS_RTS:
		attr->sq_psn = 0;
		*mask |= IBV_QP_SQ_PSN;
		return 0;
	default:
		return -EINVAL;
	}
}

static int fill_attr(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	if (cm_is_datagram(id))
		return fill_datagram_attr(id, attr, mask);
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		fill_init(id, attr, mask);
		return 0;
	case IBV_QPS_RTR:
	case IBV_QPS_RTS:
		if (!id->remote.number)
			return -EINVAL;
		if (attr->qp_state == IBV_QPS_RTR)
			fill_ready_to_receive(id, attr, mask);
		else
			fill_ready_to_send(id, attr, mask);
		if (id->id.qp && id->id.qp->qp_type == IBV_QPT_UC)
			*mask &= ~RELIABLE_ONLY;
		return 0;
	default:
		return -EINVAL;
	}
}

int softverbs_rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	if (!id->verbs)
		return cm_result(-EINVAL);
	return cm_result(fill_attr(to_cm_id(id), attr, mask));
}

static int modify_to(struct cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask;
	int error = fill_attr(id, &attr, &mask);

	return error ? error : -softverbs_ibv_modify_qp(qp, &attr, mask);
}

/* Moves the new queue pair to INIT; one for datagrams goes on to RTS at once. */
static int prepare(struct cm_id *id, struct ibv_qp *qp)
{
	int error = modify_to(id, qp, IBV_QPS_INIT);

	if (!error && cm_is_datagram(id))
		error = modify_to(id, qp, IBV_QPS_RTR);
	if (!error && cm_is_datagram(id))
		error = modify_to(id, qp, IBV_QPS_RTS);
	return error;
}

int cm_modify_to_ready(struct cm_id *id)
{
	int error = modify_to(id, id->id.qp, IBV_QPS_INIT); /* INIT again, now with the access flags */

	if (!error)
		error = modify_to(id, id->id.qp, IBV_QPS_RTR);
	if (!error)
		error = modify_to(id, id->id.qp, IBV_QPS_RTS);
	return error;
}

void cm_modify_to_error(struct cm_id *id)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (id->id.qp)
		softverbs_ibv_modify_qp(id->id.qp, &attr, IBV_QP_STATE);
}

static void destroy_queue(struct ibv_cq **cq, struct ibv_comp_channel **channel)
{
	if (*cq)
		softverbs_ibv_destroy_cq(*cq);
	if (*channel)
		softverbs_ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

static void destroy_queues(struct rdma_cm_id *id)
{
	destroy_queue(&id->recv_cq, &id->recv_cq_channel);
	destroy_queue(&id->send_cq, &id->send_cq_channel);
}

/* Creates a completion queue with a channel of its own, as librdmacm does when the caller names none. 0 or -errno. */
static int create_queue(struct rdma_cm_id *id, uint32_t depth, struct ibv_cq **cq,
			struct ibv_comp_channel **channel)
{
	*channel = softverbs_ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return -errno;
	*cq = softverbs_ibv_create_cq(id->verbs, depth ? (int)depth : 1, id, *channel, 0);
	return *cq ? 0 : -errno;
}

static int create_missing_queues(struct rdma_cm_id *id, struct ibv_qp_init_attr *attr)
{
	int error = 0;

	if (!attr->recv_cq) {
		error = create_queue(id, attr->cap.max_recv_wr, &id->recv_cq, &id->recv_cq_channel);
		attr->recv_cq = id->recv_cq;
	}
	if (!error && !attr->send_cq) {
		error = create_queue(id, attr->cap.max_send_wr, &id->send_cq, &id->send_cq_channel);
		attr->send_cq = id->send_cq;
	}
	return error;
}

int softverbs_rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_pd *pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL;
	struct ibv_qp_init_attr_ex wanted = *attr;
	struct ibv_qp *qp;
	int error;

	if (!id->verbs || id->qp || (pd && pd->context != id->verbs) ||
	    (attr->qp_type == IBV_QPT_UD) != cm_is_datagram(to_cm_id(id)))
		return cm_result(-EINVAL);
	if (!pd)
		pd = id->pd;
	if (!pd)
		return -1;
	if (!wanted.srq)
		wanted.srq = id->srq;
	wanted.pd = pd;
	wanted.comp_mask |= IBV_QP_INIT_ATTR_PD;
	/* ibv_qp_init_attr_ex begins with the fields of ibv_qp_init_attr. */
	error = create_missing_queues(id, (struct ibv_qp_init_attr *)(void *)&wanted);
	if (error)
		goto destroy_queues;
	qp = verbs_get_ctx(id->verbs)->create_qp_ex(id->verbs, &wanted);
	if (!qp) {
		error = -errno;
		goto destroy_queues;
	}
	error = prepare(to_cm_id(id), qp);
	if (error)
		goto destroy_qp;
	attr->cap = wanted.cap;
	attr->send_cq = wanted.send_cq;
	attr->recv_cq = wanted.recv_cq;
	id->pd = pd;
	id->qp = qp;
	return 0;

destroy_qp:
	softverbs_ibv_destroy_qp(qp);
destroy_queues:
	destroy_queues(id);
	return cm_result(error);
}

int softverbs_rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex extended = {.comp_mask = pd ? IBV_QP_INIT_ATTR_PD : 0, .pd = pd};
	const size_t common = offsetof(struct ibv_qp_init_attr_ex, comp_mask); /* in the padding of ibv_qp_init_attr */
	int result;

	memcpy(&extended, attr, common);
	result = softverbs_rdma_create_qp_ex(id, &extended);
	if (!result)
		memcpy(attr, &extended, common);
	return result;
}

void softverbs_rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (!id->qp)
		return;
	cm_leave_groups(to_cm_id(id));
	softverbs_ibv_destroy_qp(id->qp);
	id->qp = NULL;
	destroy_queues(id);
}
