/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every attribute of a queue pair that modify_qp takes is what query_qp tells, a value that the device does not have
 * is refused, and a refused call changes nothing.
 */
#include "softdev_fixture.h"

enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		 IBV_QP_MAX_QP_RD_ATOMIC,
	EVERYTHING = 2 * IBV_QP_DEST_QPN - 1, /* but rate limits, which not every device knows; the software device takes any bit */
};

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

static void inInit(struct side *side)
{
	struct ibv_qp_attr attr = query(side);

	CHECK_EQUAL(attr.qp_state, IBV_QPS_RESET);
	REFUSED(side, IBV_QPS_INIT, TO_INIT, asked.port_num = 0);
	REFUSED(side, IBV_QPS_INIT, TO_INIT, asked.port_num = 2);
	REFUSED(side, IBV_QPS_INIT, TO_INIT, asked.pkey_index = 1);
	REFUSED(side, IBV_QPS_INIT, TO_INIT, asked.qp_access_flags |= 1u << 30);
	REFUSED(side, 8, TO_INIT, (void)asked);
	CHECK_EQUAL(modify(side, good(side), IBV_QPS_INIT, TO_INIT), 0);
	attr = query(side);
	CHECK_EQUAL(attr.qp_state, IBV_QPS_INIT);
	CHECK_EQUAL(attr.port_num, 1);
	CHECK_EQUAL(attr.pkey_index, 0);
	CHECK_EQUAL(attr.qp_access_flags, ALL_REMOTE);
}

static void inReadyToReceive(struct side *side)
{
	struct ibv_qp_attr attr, wanted = good(side);

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
	CHECK_EQUAL(modify(side, wanted, IBV_QPS_RTR, TO_RTR), 0);
	attr = query(side);
	CHECK_EQUAL(attr.path_mtu, wanted.path_mtu);
	CHECK_EQUAL(attr.dest_qp_num, wanted.dest_qp_num);
	CHECK_EQUAL(attr.max_dest_rd_atomic, wanted.max_dest_rd_atomic);
	CHECK_EQUAL(attr.min_rnr_timer, wanted.min_rnr_timer);
	CHECK_EQUAL(attr.rq_psn, wanted.rq_psn);
	CHECK_EQUAL(memcmp(&attr.ah_attr, &wanted.ah_attr, sizeof(attr.ah_attr)), 0);
}

static void inReadyToSend(struct side *side)
{
	struct ibv_qp_attr attr, wanted = good(side);

	REFUSED(side, IBV_QPS_RTS, TO_RTS, asked.timeout = 32);
	REFUSED(side, IBV_QPS_RTS, TO_RTS, asked.retry_cnt = 8);
	REFUSED(side, IBV_QPS_RTS, TO_RTS, asked.rnr_retry = 8);
	REFUSED(side, IBV_QPS_RTS, TO_RTS, asked.max_rd_atomic = 17);
	REFUSED(side, IBV_QPS_RTS, TO_RTS | IBV_QP_PATH_MIG_STATE, asked.path_mig_state = IBV_MIG_REARM);
	REFUSED(side, IBV_QPS_RTS, TO_RTS | IBV_QP_CUR_STATE, asked.cur_qp_state = IBV_QPS_RTS);
	attr = wanted;
	attr.cur_qp_state = IBV_QPS_RTR;
	CHECK_EQUAL(modify(side, attr, IBV_QPS_RTS, TO_RTS | IBV_QP_CUR_STATE), 0);
	attr = query(side);
	CHECK_EQUAL(attr.timeout, wanted.timeout);
	CHECK_EQUAL(attr.retry_cnt, wanted.retry_cnt);
	CHECK_EQUAL(attr.rnr_retry, wanted.rnr_retry);
	CHECK_EQUAL(attr.sq_psn, wanted.sq_psn);
	CHECK_EQUAL(attr.max_rd_atomic, wanted.max_rd_atomic);
	/* Still there, though it was set earlier. */
	CHECK_EQUAL(attr.path_mtu, wanted.path_mtu);
	CHECK_EQUAL(attr.qp_access_flags, ALL_REMOTE);
	REFUSED(side, IBV_QPS_RTS, IBV_QP_TIMEOUT, (void)asked);
	attr.min_rnr_timer = 0;
	attr.qp_access_flags = 0;
	CHECK_EQUAL(modify(side, attr, IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS), 0);
	CHECK_EQUAL(query(side).min_rnr_timer, 0);
	CHECK_EQUAL(query(side).qp_access_flags, 0);
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
	attr.ah_attr.sl = 5;
	CHECK_EQUAL(modify(side, attr, 0,
			   IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_AV |
				   IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC),
		    0);
	attr = query(side);
	CHECK_EQUAL(attr.qp_state, IBV_QPS_SQD);
	CHECK_EQUAL(attr.timeout, 3);
	CHECK_EQUAL(attr.retry_cnt, 1);
	CHECK_EQUAL(attr.rnr_retry, 2);
	CHECK_EQUAL(attr.max_rd_atomic, 7);
	CHECK_EQUAL(attr.max_dest_rd_atomic, 8);
	CHECK_EQUAL(attr.ah_attr.sl, 5);
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
