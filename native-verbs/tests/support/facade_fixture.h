/* SPDX-License-Identifier: Apache-2.0 */
/* What programs share that are linked with the libraries for unmodified programs. */
#ifndef SHUFFLE_RDMA_FACADE_FIXTURE_H
#define SHUFFLE_RDMA_FACADE_FIXTURE_H

#include "test.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

static inline struct ibv_context *open_first(void)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_context *context;

	CHECK(list && count == 1 && !list[1]);
	CHECK(!strcmp(ibv_get_device_name(list[0]), "softv0"));
	CHECK(ibv_get_device_guid(list[0]));
	context = ibv_open_device(list[0]);
	CHECK(context);
	ibv_free_device_list(list);
	return context;
}

/* Two queue pairs of this process, each the other's peer. */
static inline void connect_qp(struct ibv_context *context, struct ibv_qp *qp, uint32_t remote)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	union ibv_gid gid;

	CHECK_EQUAL(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
	CHECK_EQUAL(ibv_query_gid(context, 1, 1, &gid), 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = remote,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .sgid_index = 1, .hop_limit = 1}},
	};
	CHECK_EQUAL(ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
		    0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
	CHECK_EQUAL(ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
		    0);
}

static inline void bytesGoThrough(struct ibv_qp *from, struct ibv_qp *to, struct ibv_cq *cq, struct ibv_mr *mr, char *text)
{
	struct ibv_sge out = {(uintptr_t)text, 32, mr->lkey}, in = {(uintptr_t)text + 64, 32, mr->lkey};
	struct ibv_send_wr *bad_send, send = {.wr_id = 1, .sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND,
					      .send_flags = IBV_SEND_SIGNALED};
	struct ibv_recv_wr *bad_receive, receive = {.wr_id = 2, .sg_list = &in, .num_sge = 1};
	uint64_t deadline = test_now_ms() + 20000;
	struct ibv_wc wc[2];
	int done = 0;

	CHECK_EQUAL(ibv_post_recv(to, &receive, &bad_receive), 0);
	CHECK_EQUAL(ibv_post_send(from, &send, &bad_send), 0);
	while (done < 2 && test_now_ms() < deadline) {
		int count = ibv_poll_cq(cq, 2 - done, wc + done);

		CHECK(count >= 0);
		done += count;
	}
	CHECK_EQUAL(done, 2);
	CHECK(wc[0].status == IBV_WC_SUCCESS && wc[1].status == IBV_WC_SUCCESS);
	CHECK(!memcmp(text, text + 64, 32));
}

/* What a program has of the device: two queue pairs, which share the rest. */
struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *a, *b;
	char text[128];
};

static inline void open_all(struct device *device, const char *text)
{
	struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	strcpy(device->text, text);
	device->context = open_first();
	device->pd = ibv_alloc_pd(device->context);
	device->cq = ibv_create_cq(device->context, 16, NULL, NULL, 0);
	CHECK(device->pd && device->cq);
	init.send_cq = init.recv_cq = device->cq;
	device->a = ibv_create_qp(device->pd, &init);
	device->b = ibv_create_qp(device->pd, &init);
	device->mr = ibv_reg_mr(device->pd, device->text, sizeof(device->text), IBV_ACCESS_LOCAL_WRITE);
	CHECK(device->a && device->b && device->mr);
}

/* Connects the two to each other; the first one sends to the second. */
static inline void connect_and_send(struct device *device)
{
	connect_qp(device->context, device->a, device->b->qp_num);
	connect_qp(device->context, device->b, device->a->qp_num);
	bytesGoThrough(device->a, device->b, device->cq, device->mr, device->text);
}

static inline void give_back(struct device *device)
{
	CHECK_EQUAL(ibv_destroy_qp(device->a), 0);
	CHECK_EQUAL(ibv_destroy_qp(device->b), 0);
	CHECK_EQUAL(ibv_dereg_mr(device->mr), 0);
	CHECK_EQUAL(ibv_destroy_cq(device->cq), 0);
	CHECK_EQUAL(ibv_dealloc_pd(device->pd), 0);
	CHECK_EQUAL(ibv_close_device(device->context), 0);
}

#endif
