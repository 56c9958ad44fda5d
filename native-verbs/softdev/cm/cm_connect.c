/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that establish and end connections. */
#include <errno.h>
#include <string.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "exports.h"
#include "fault/fault.h"

#define CONNECT_DEADLINE_NS 60000000000ull /* the time that the peer's application has to answer */
#define READY_WAIT_NS 10000000000ull
#define DISCONNECT_WAIT_NS 5000000000ull

enum { MAX_RETRY_COUNT = 7, ALREADY_OVER = 1 };

static uint8_t at_most(int value, int limit)
{
	return (uint8_t)(value < limit ? value : limit);
}

/* Takes over a number of outstanding READs. 0, or -EINVAL if it exceeds the maximum of the device. */
static int take_depth(uint8_t *depth, uint8_t wanted, bool is_answer, int most)
{
	if (wanted != RDMA_MAX_RESP_RES && wanted > most)
		return -EINVAL;
	if (!is_answer || wanted != RDMA_MAX_RESP_RES)
		*depth = wanted;
	*depth = at_most(*depth, most);
	return 0;
}

/*
 * Takes over the connection parameters; without them the values that the peer asked for stay. RDMA_MAX_* stands for the
 * maximum of the device; in an answer, for as much of the peer's request as the device can provide. 0 or -errno.
 */
static int take_param(struct cm_id *id, const struct rdma_conn_param *given, bool is_answer, uint8_t max_private_data)
{
	static const struct rdma_conn_param as_asked = {.responder_resources = RDMA_MAX_RESP_RES,
							.initiator_depth = RDMA_MAX_INIT_DEPTH};
	const struct rdma_conn_param *param = given ? given : &as_asked;
	struct cm_queue_pair local = id->local;
	struct ibv_device_attr device;
	int error = softverbs_ibv_query_device(id->id.verbs, &device);

	if (error)
		return -error;
	if ((param->private_data_len && !param->private_data) || param->private_data_len > max_private_data)
		return -EINVAL;
	if (!cm_is_datagram(id) && (take_depth(&local.responder_resources, param->responder_resources, is_answer,
					       device.max_qp_rd_atom) ||
				    take_depth(&local.initiator_depth, param->initiator_depth, is_answer,
					       device.max_qp_init_rd_atom)))
		return -EINVAL;
	if (given) {
		local.flow_control = given->flow_control;
		local.rnr_retry_count = at_most(given->rnr_retry_count, MAX_RETRY_COUNT);
		local.number = given->qp_num;
		local.srq = given->srq;
	}
	if (id->id.qp) {
		local.number = id->id.qp->qp_num;
		local.srq = id->id.qp->srq != NULL;
	}
	id->local = local;
	return 0;
}

static int expect_route(struct cm_id *id, void *unused)
{
	(void)unused;
	return id->state == CM_ROUTE_RESOLVED ? 0 : -EINVAL;
}

static int start_connect(struct cm_id *id, void *unused)
{
	if (expect_route(id, unused))
		return -EINVAL;
	id->deadline_ns = progress_now_ns() + CONNECT_DEADLINE_NS;
	return cm_start_rendezvous(id);
}

int softverbs_rdma_connect(struct rdma_cm_id *public_id, struct rdma_conn_param *param)
{
	struct rdma_conn_param most = {.responder_resources = RDMA_MAX_RESP_RES,
				       .initiator_depth = RDMA_MAX_INIT_DEPTH,
				       .retry_count = MAX_RETRY_COUNT,
				       .rnr_retry_count = MAX_RETRY_COUNT};
	struct cm_id *id = to_cm_id(public_id);
	int error;

	if (!param && !public_id->qp && !cm_is_datagram(id))
		return cm_result(-EINVAL); /* neither the id nor the parameters name a queue pair */
	if (!param)
		param = &most;
	error = -fault_call(FAULT_CONNECT);
	if (!error)
		error = cm_run(id, expect_route, NULL);
	if (!error)
		error = take_param(id, param, false,
				   cm_is_datagram(id) ? CM_DATAGRAM_REQUEST_PRIVATE_DATA
						      : CM_REQUEST_PRIVATE_DATA);
	if (error)
		return cm_result(error);
	id->local.retry_count = at_most(param->retry_count, MAX_RETRY_COUNT);
	memset(id->request_private_data, 0, sizeof(id->request_private_data));
	if (param->private_data_len)
		memcpy(id->request_private_data, param->private_data, param->private_data_len);
	error = cm_run(id, start_connect, NULL);
	return error ? cm_result(error) : cm_complete(id);
}

int cm_send_ready(struct cm_id *id, void *unused)
{
	(void)unused;
	if (id->state == CM_REPLY_RECEIVED) {
		cm_send_op(id, CM_FRAME_READY);
		id->state = CM_CONNECTED;
	}
	return 0;
}

static int establish(struct cm_id *id, void *unused)
{
	return id->state == CM_REPLY_RECEIVED ? cm_send_ready(id, unused) : -EINVAL;
}

int softverbs_rdma_establish(struct rdma_cm_id *id)
{
	if (id->qp)
		return cm_result(-EINVAL);
	return cm_result(cm_run(to_cm_id(id), establish, NULL));
}

static int expect_request(struct cm_id *id, void *unused)
{
	(void)unused;
	return id->state == CM_REQUEST_RECEIVED ? 0 : -EINVAL;
}

static int send_reply(struct cm_id *id, void *argument)
{
	const struct rdma_conn_param *param = argument;
	struct cm_reply reply = {.queue_pair = id->local};
	struct frame frame = {.op = CM_FRAME_REPLY, .length = sizeof(reply)};
	int error;

	if (id->state != CM_REQUEST_RECEIVED)
		return -EINVAL;
	if (param && param->private_data_len)
		memcpy(reply.private_data, param->private_data, param->private_data_len);
	error = link_send(id->link, &frame, &reply, NULL, 0);
	if (error)
		return error;
	id->state = CM_REPLY_SENT;
	cm_set_deadline(id, progress_now_ns() + READY_WAIT_NS);
	return 0;
}

int softverbs_rdma_accept(struct rdma_cm_id *public_id, struct rdma_conn_param *param)
{
	struct cm_id *id = to_cm_id(public_id);
	int error = -fault_call(FAULT_ACCEPT);

	if (!error)
		error = cm_run(id, expect_request, NULL);
	if (!error)
		error = take_param(id, param, true,
				   cm_is_datagram(id) ? CM_DATAGRAM_REPLY_PRIVATE_DATA
						      : CM_REPLY_PRIVATE_DATA);
	if (error)
		return cm_result(error);
	if (cm_is_datagram(id)) {
		cm_take_event(id);
		return cm_result(cm_run(id, cm_send_datagram_reply, param));
	}
	if (public_id->qp)
		error = cm_modify_to_ready(id);
	if (!error)
		error = cm_run(id, send_reply, param);
	if (!error)
		return cm_complete(id);
	cm_modify_to_error(id);
	return cm_result(error);
}

static int reject_on_thread(struct cm_id *id, void *argument)
{
	const struct rdma_conn_param *param = argument;

	if (id->state != CM_REQUEST_RECEIVED && id->state != CM_REPLY_RECEIVED)
		return -EINVAL;
	cm_send_reject(id, CM_REJECT_CONSUMER, param->private_data, param->private_data_len);
	return 0;
}

int softverbs_rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t length)
{
	struct rdma_conn_param param = {.private_data = private_data, .private_data_len = length};

	if (length > (cm_is_datagram(to_cm_id(id)) ? CM_DATAGRAM_REPLY_PRIVATE_DATA : CM_REJECT_PRIVATE_DATA) ||
	    (length && !private_data))
		return cm_result(-EINVAL);
	return cm_result(cm_run(to_cm_id(id), reject_on_thread, &param));
}

static int start_disconnect(struct cm_id *id, void *unused)
{
	(void)unused;
	switch (id->state) {
	case CM_REPLY_SENT:
	case CM_CONNECTED:
		cm_send_op(id, CM_FRAME_DISCONNECT);
		id->state = CM_DISCONNECT_SENT;
		cm_set_deadline(id, progress_now_ns() + DISCONNECT_WAIT_NS);
		return 0;
	case CM_DISCONNECT_RECEIVED:
		cm_send_op(id, CM_FRAME_DISCONNECTED);
		cm_enter_timewait(id);
		return 0;
	case CM_DISCONNECT_SENT:
	case CM_CLOSED:
		return ALREADY_OVER;
	default:
		return -EINVAL;
	}
}

int softverbs_rdma_disconnect(struct rdma_cm_id *public_id)
{
	struct cm_id *id = to_cm_id(public_id);
	int error = -fault_call(FAULT_DISCONNECT);

	if (!error && cm_is_datagram(id))
		error = -EINVAL;
	if (error)
		return cm_result(error);
	cm_modify_to_error(id);
	error = cm_run(id, start_disconnect, NULL);
	if (error == ALREADY_OVER)
		return 0;
	return error ? cm_result(error) : cm_complete(id);
}
