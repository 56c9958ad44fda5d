/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every attribute of a queue pair that modify_qp takes is what query_qp tells, a value that the device does not have
 * is refused, and a refused call changes nothing.
 */
#include "softdev_fixture.h"

/* But rate limits, which not every device knows; the software device takes any bit. */
enum { EVERYTHING = 2 * IBV_QP_DEST_QPN - 1 };

static struct ibv_qp_attr query(struct side *side)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0xee, sizeof(attr));
	memset(&init, 0xee, sizeof(init));
	CHECK_EQUAL(softverbs_ibv_query_qp(side->qp, &attr, test_device() ? EVERYTHING : ~0, &init), 0);
	CHECK(init.qp_context == side && init.send_cq == side->cq && init.recv_cq == side->cq && !init.srq);
	CHECK(init.qp_type == IBV_QPT_RC && init.sq_sig_all == 1);
	CHECK_EQUAL(memcmp(&init.cap, &attr.cap, sizeof(init.cap)), 0);
	return attr;
}

static struct ibv_qp_attr good(const struct side *side)
{
	struct address own = address_of(side);

	return (struct ibv_qp_attr){
		.port_num = 1,
		.qp_access_flags = ALL_REMOTE,
		.path_mtu = IBV_MTU_512,
		.dest_qp_num = 0xabcdef,
		.max_dest_rd_atomic = 5,
		.max_rd_atomic = 3,
		.min_rnr_timer = 17,
		.timeout = 31,
		.retry_cnt = 6,
		.rnr_retry = 4,
		.rq_psn = 0xfffffe,
		.sq_psn = 0x800001,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .sl = 3,
			    .grh = {.dgid = own.gid, .sgid_index = 1, .hop_limit = 9, .traffic_class = 7}},
	};
}

static int modify(struct side *side, struct ibv_qp_attr attr, enum ibv_qp_state state, int mask)
{
	attr.qp_state = state;
	return softverbs_ibv_modify_qp(side->qp, &attr, mask);
}

/* The call with this change is refused; nothing has changed. */
#define REFUSED(side, state, mask, change)                                        \
	do {                                                                      \
		struct ibv_qp_attr asked = good(side), before = query(side), after; \
		change;                                                           \
		CHECK_EQUAL(modify(side, asked, state, mask), EINVAL);            \
		after = query(side);                                              \
		CHECK_EQUAL(memcmp(&before, &after, sizeof(before)), 0);          \
	} while (0)

/* These attributes are told as they were asked for. */
static void expect_told(struct side *side, const struct ibv_qp_attr *asked, int mask)
{
	struct ibv_qp_attr told = query(side);

#define EXPECT(bit, field)      \
	if (mask & IBV_QP_##bit) \
	CHECK_EQUAL(told.field, asked->field)
	EXPECT(PORT, port_num);
	EXPECT(PKEY_INDEX, pkey_index);
	EXPECT(ACCESS_FLAGS, qp_access_flags);
	EXPECT(PATH_MTU, path_mtu);
	EXPECT(DEST_QPN, dest_qp_num);
	EXPECT(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	EXPECT(MAX_QP_RD_ATOMIC, max_rd_atomic);
	EXPECT(MIN_RNR_TIMER, min_rnr_timer);
	EXPECT(RQ_PSN, rq_psn);
	EXPECT(SQ_PSN, sq_psn);
	EXPECT(TIMEOUT, timeout);
	EXPECT(RETRY_CNT, retry_cnt);
	EXPECT(RNR_RETRY, rnr_retry);
	EXPECT(AV, ah_attr.is_global);
	EXPECT(AV, ah_attr.port_num);
	EXPECT(AV, ah_attr.dlid);
	EXPECT(AV, ah_attr.sl);
	EXPECT(AV, ah_attr.src_path_bits);
	EXPECT(AV, ah_attr.static_rate);
	EXPECT(AV, ah_attr.grh.dgid.global.subnet_prefix);
	EXPECT(AV, ah_attr.grh.dgid.global.interface_id);
	EXPECT(AV, ah_attr.grh.flow_label);
	EXPECT(AV, ah_attr.grh.sgid_index);
	EXPECT(AV, ah_attr.grh.hop_limit);
	EXPECT(AV, ah_attr.grh.traffic_class);
#undef EXPECT
}

/* The call succeeds, and leads to the state; what it sets is told, and what it has set before. */
static void expect_taken(struct side *side, struct ibv_qp_attr asked, enum ibv_qp_state state, int mask, int before)
{
	CHECK_EQUAL(modify(side, asked, state, mask), 0);
	CHECK_EQUAL(query(side).qp_state, state);
	CHECK_EQUAL(query(side).cur_qp_state, state);
	expect_told(side, &asked, mask | before);
}

static void inInit(struct side *side)
{
	CHECK_EQUAL(query(side).qp_state, IBV_QPS_RESET);
	REFUSED(side, IBV_QPS_INIT, TO_INIT, asked.port_num = 0);
	REFUSED(side, IBV_QPS_INIT, TO_INIT, asked.port_num = 2);
	REFUSED(side, IBV_QPS_INIT, TO_INIT, asked.pkey_index = 1);
	REFUSED(side, IBV_QPS_INIT, TO_INIT, asked.qp_access_flags |= 1u << 30);
	REFUSED(side, 8, TO_INIT, (void)asked);
	expect_taken(side, good(side), IBV_QPS_INIT, TO_INIT, 0);
}

static void inReadyToReceive(struct side *side)
{
	REFUSED(side, IBV_QPS_RTR, TO_RTR, asked.path_mtu = 0);
	REFUSED(side, IBV_QPS_RTR, TO_RTR, asked.path_mtu = IBV_MTU_4096 + 1);
	REFUSED(side, IBV_QPS_RTR, TO_RTR, asked.max_dest_rd_atomic = 17);
	REFUSED(side, IBV_QPS_RTR, TO_RTR, asked.min_rnr_timer = 32);
	REFUSED(side, IBV_QPS_RTR, TO_RTR, asked.dest_qp_num = 1 << 24);
	REFUSED(side, IBV_QPS_RTR, TO_RTR, asked.ah_attr.is_global = 0);
	REFUSED(side, IBV_QPS_RTR, TO_RTR, asked.ah_attr.port_num = 2);
	REFUSED(side, IBV_QPS_RTR, TO_RTR, asked.ah_attr.grh.sgid_index = 255);
	REFUSED(side, IBV_QPS_RTR, TO_RTR | IBV_QP_ALT_PATH, (void)asked);
	REFUSED(side, IBV_QPS_RTR, TO_RTR | IBV_QP_CAP, (void)asked);
	REFUSED(side, IBV_QPS_RTR, TO_RTR | IBV_QP_QKEY, (void)asked);
	REFUSED(side, IBV_QPS_RTR, TO_RTR | IBV_QP_RATE_LIMIT, (void)asked);
	expect_taken(side, good(side), IBV_QPS_RTR, TO_RTR, TO_INIT);
}

static void inReadyToSend(struct side *side)
{
	struct ibv_qp_attr attr = good(side);

	REFUSED(side, IBV_QPS_RTS, TO_RTS, asked.timeout = 32);
	REFUSED(side, IBV_QPS_RTS, TO_RTS, asked.retry_cnt = 8);
	REFUSED(side, IBV_QPS_RTS, TO_RTS, asked.rnr_retry = 8);
	REFUSED(side, IBV_QPS_RTS, TO_RTS, asked.max_rd_atomic = 17);
	REFUSED(side, IBV_QPS_RTS, TO_RTS | IBV_QP_PATH_MIG_STATE, asked.path_mig_state = IBV_MIG_REARM);
	REFUSED(side, IBV_QPS_RTS, TO_RTS | IBV_QP_CUR_STATE, asked.cur_qp_state = IBV_QPS_RTS);
	attr.cur_qp_state = IBV_QPS_RTR;
	expect_taken(side, attr, IBV_QPS_RTS, TO_RTS | IBV_QP_CUR_STATE, TO_INIT | TO_RTR);
	REFUSED(side, IBV_QPS_RTS, IBV_QP_TIMEOUT, (void)asked);
	attr.min_rnr_timer = 0;
	attr.qp_access_flags = 0;
	expect_taken(side, attr, IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS, TO_RTR | TO_RTS);
}

static void inSendQueueDrained(struct side *side)
{
	struct ibv_qp_attr attr = good(side);

	CHECK_EQUAL(modify(side, attr, IBV_QPS_SQD, IBV_QP_STATE), 0);
	attr.timeout = 3;
	attr.retry_cnt = 1;
	attr.rnr_retry = 2;
	attr.max_rd_atomic = 7;
	attr.max_dest_rd_atomic = 8;
	attr.min_rnr_timer = 9;
	attr.ah_attr.sl = 5;
	expect_taken(side, attr, IBV_QPS_SQD,
		     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_AV | IBV_QP_MAX_QP_RD_ATOMIC |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		     0);
	REFUSED(side, IBV_QPS_SQD, IBV_QP_SQ_PSN, (void)asked);
}

/* The kernel cuts a PSN to its 24 bits, and so does the device. */
static void longSequenceNumbersAreCut(struct side *side)
{
	struct ibv_qp_attr attr = good(side);

	CHECK_EQUAL(modify(side, attr, IBV_QPS_RESET, IBV_QP_STATE), 0);
	CHECK_EQUAL(query(side).qp_state, IBV_QPS_RESET);
	attr.rq_psn = 0x7f123456;
	attr.sq_psn = 0xff000001;
	CHECK_EQUAL(modify(side, attr, IBV_QPS_INIT, TO_INIT), 0);
	CHECK_EQUAL(modify(side, attr, IBV_QPS_RTR, TO_RTR), 0);
	CHECK_EQUAL(modify(side, attr, IBV_QPS_RTS, TO_RTS), 0);
	CHECK_EQUAL(query(side).rq_psn, 0x123456);
	CHECK_EQUAL(query(side).sq_psn, 1);
}

int main(void)
{
	struct ibv_qp_init_attr init = {.cap = {4, 4, 2, 2, 0}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
	struct side side;

	alarm(TEST_SECONDS);
	open_side(&side, 16, 4);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
	init.qp_context = &side;
	init.send_cq = init.recv_cq = side.cq;
	side.qp = softverbs_ibv_create_qp(side.pd, &init);
	CHECK(side.qp);
	inInit(&side);
	inReadyToReceive(&side);
	inReadyToSend(&side);
	inSendQueueDrained(&side);
	longSequenceNumbersAreCut(&side);
	close_side(&side);
	check_no_leaks();
}
