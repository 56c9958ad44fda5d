/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordinary program, compiled with the headers of rdma-core and linked with the libraries for unmodified programs: the device
 * is found, used and closed under the original names, and each verb that it lacks says EOPNOTSUPP.
 */
#include "test.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

static struct ibv_context *open_first(void)
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

#define EXPECT_NO_OBJECT(call)                                                                       \
	do {                                                                                         \
		errno = 0;                                                                           \
		CHECK(!(call));                                                                      \
		CHECK_EQUAL(errno, EOPNOTSUPP);                                                      \
	} while (0)

/* What docs/software-device.md says the device leaves out, where the inline functions of the headers ask for it. */
static void whatIsMissingSaysSo(struct ibv_context *context, struct ibv_pd *pd, struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex tag_matching = {
		.attr = {.max_wr = 1, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_TM,
		.pd = pd,
		.cq = cq,
	};
	struct ibv_qp_init_attr raw = {
		.send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RAW_PACKET};

	EXPECT_NO_OBJECT(ibv_alloc_dm(context, &(struct ibv_alloc_dm_attr){.length = 64}));
	EXPECT_NO_OBJECT(ibv_alloc_null_mr(pd));
	EXPECT_NO_OBJECT(ibv_open_xrcd(context, &(struct ibv_xrcd_init_attr){0}));
	EXPECT_NO_OBJECT(ibv_open_qp(context, &(struct ibv_qp_open_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_srq_ex(context, &tag_matching));
	EXPECT_NO_OBJECT(ibv_create_wq(context, &(struct ibv_wq_init_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_rwq_ind_table(context, &(struct ibv_rwq_ind_table_init_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_flow(qp, &(struct ibv_flow_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_flow_action_esp(context, &(struct ibv_flow_action_esp_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_counters(context, &(struct ibv_counters_init_attr){0}));
	EXPECT_NO_OBJECT(ibv_import_device(context->cmd_fd));
	EXPECT_NO_OBJECT(ibv_create_qp(pd, &raw));
	CHECK_EQUAL(ibv_modify_cq(cq, &(struct ibv_modify_cq_attr){0}), EOPNOTSUPP);
	CHECK_EQUAL(ibv_modify_qp_rate_limit(qp, &(struct ibv_qp_rate_limit_attr){0}), EOPNOTSUPP);
	CHECK_EQUAL(ibv_set_ece(qp, &(struct ibv_ece){.vendor_id = 1}), EOPNOTSUPP);
}

/* Two queue pairs of this process, each the other's peer. */
static void connect_qp(struct ibv_context *context, struct ibv_qp *qp, uint32_t remote)
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

static void bytesGoThrough(struct ibv_qp *from, struct ibv_qp *to, struct ibv_cq *cq, struct ibv_mr *mr, char *text)
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

static void idsHaveTheDeviceAfterBinding(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct rdma_cm_id *id;

	CHECK(channel);
	CHECK_EQUAL(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	CHECK(!id->verbs && !id->pd);
	CHECK_EQUAL(rdma_bind_addr(id, (struct sockaddr *)&address), 0);
	CHECK(id->verbs && id->pd && rdma_get_src_port(id));
	CHECK_EQUAL(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct ibv_context *context = open_first();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	static char text[128] = "as it was in the beginning";
	struct ibv_qp *a, *b;
	struct ibv_mr *mr;

	CHECK(pd && cq);
	a = ibv_create_qp(pd, &init);
	b = ibv_create_qp(pd, &init);
	mr = ibv_reg_mr(pd, text, sizeof(text), IBV_ACCESS_LOCAL_WRITE);
	CHECK(a && b && mr);
	whatIsMissingSaysSo(context, pd, a, cq);
	connect_qp(context, a, b->qp_num);
	connect_qp(context, b, a->qp_num);
	bytesGoThrough(a, b, cq, mr, text);
	bytesGoThrough(b, a, cq, mr, text);
	CHECK_EQUAL(ibv_destroy_qp(a), 0);
	CHECK_EQUAL(ibv_destroy_qp(b), 0);
	CHECK_EQUAL(ibv_dereg_mr(mr), 0);
	CHECK_EQUAL(ibv_destroy_cq(cq), 0);
	CHECK_EQUAL(ibv_dealloc_pd(pd), 0);
	CHECK_EQUAL(ibv_close_device(context), 0);
	idsHaveTheDeviceAfterBinding();
	return 0;
}
