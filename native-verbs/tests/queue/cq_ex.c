/* SPDX-License-Identifier: Apache-2.0 */
/* Extended completion queues: what start_poll, next_poll and the read functions give, and what creation refuses. */
#include "softdev_fixture.h"

static void open_extended_side(struct side *side, struct ibv_cq_init_attr_ex attr)
{
	struct ibv_cq_ex *cq;

	open_side(side, 64, 64);
	attr.channel = side->channel;
	cq = ibv_create_cq_ex(side->context, &attr);
	CHECK(cq);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side->qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side->cq), 0);
	side->cq = ibv_cq_ex_to_cq(cq);
	side->qp = create_qp(side, 64);
}

static void open_extended_pair(struct pair *pair, struct ibv_cq_init_attr_ex attr)
{
	open_extended_side(&pair->a, attr);
	open_extended_side(&pair->b, attr);
	connect_sides(&pair->a, &pair->b, NULL, NULL);
	pair->local = add_region(&pair->a, 4096, ALL_REMOTE);
	pair->remote = add_region(&pair->b, 4096, ALL_REMOTE);
}

static struct ibv_cq_ex *extended(struct side *side)
{
	return (struct ibv_cq_ex *)side->cq;
}

/* Polls until there is a completion; end_poll is the caller's. */
static struct ibv_cq_ex *start_poll(struct side *side)
{
	struct ibv_poll_cq_attr attr = {0};
	int status;

	AWAIT((status = ibv_start_poll(extended(side), &attr)) != ENOENT);
	CHECK_EQUAL(status, 0);
	return extended(side);
}

static void send_immediate(struct pair *pair, uint64_t wr_id, uint32_t imm)
{
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htobe32(imm)};

	CHECK_EQUAL(post_wr(pair->a.qp, wr, sge_of(pair->local, 0, 24)), 0);
}

/* Returns its time stamp. */
static uint64_t expect_received(struct pair *pair, struct ibv_cq_ex *cq, uint32_t imm)
{
	CHECK_EQUAL(cq->status, IBV_WC_SUCCESS);
	CHECK_EQUAL(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	CHECK_EQUAL(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	CHECK_EQUAL(ibv_wc_read_imm_data(cq), htobe32(imm));
	CHECK_EQUAL(ibv_wc_read_byte_len(cq), 24);
	CHECK_EQUAL(ibv_wc_read_qp_num(cq), pair->b.qp->qp_num);
	CHECK_EQUAL(ibv_wc_read_src_qp(cq), pair->a.qp->qp_num);
	CHECK_EQUAL(ibv_wc_read_vendor_err(cq), 0);
	CHECK_EQUAL(ibv_wc_read_sl(cq), 0);
	CHECK_EQUAL(ibv_wc_read_slid(cq), 0);
	CHECK_EQUAL(ibv_wc_read_dlid_path_bits(cq), 0);
	return ibv_wc_read_completion_ts(cq);
}

/* The clocks have gone on since the completion, but not for long. */
static void expect_recent(struct ibv_context *context, struct ibv_cq_ex *cq)
{
	struct ibv_values_ex now = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	CHECK_EQUAL(ibv_query_rt_values_ex(context, &now), 0);
	CHECK_EQUAL(now.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	CHECK((uint64_t)now.raw_clock.tv_nsec >= ibv_wc_read_completion_ts(cq));
	CHECK((uint64_t)now.raw_clock.tv_nsec - ibv_wc_read_completion_ts(cq) < WAIT_MS * 1000000ull);
	CHECK(ibv_wc_read_completion_wallclock_ns(cq) / 1000000000u + WAIT_MS / 1000 >= (uint64_t)time(NULL));
}

static void fieldsAreThoseOfTheCompletion(struct pair *pair)
{
	struct ibv_poll_cq_attr attr = {0};
	bool has_read = false, has_received = false;
	struct ibv_cq_ex *cq;
	uint64_t first_ns;
	int error;

	CHECK_EQUAL(ibv_start_poll(extended(&pair->b), &attr), ENOENT);
	for (int i = 0; i < 2; i++)
		pair_receive(pair, 10 + i, 64);
	send_immediate(pair, 1, 77);
	send_immediate(pair, 2, 78);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS); /* polled in the old way */
	cq = start_poll(&pair->b);
	CHECK_EQUAL(cq->wr_id, 10);
	first_ns = expect_received(pair, cq, 77);
	/* what is posted while a completion is read may complete at once, on the same queue */
	CHECK_EQUAL(post_read(pair->b.qp, 20, pair->remote, 64, (uintptr_t)pair->local->bytes, pair->local->mr->rkey), 0);
	ibv_end_poll(cq);

	for (; !has_read || !has_received; ibv_end_poll(cq)) {
		cq = start_poll(&pair->b);
		do {
			if (cq->wr_id == 11) {
				CHECK(expect_received(pair, cq, 78) >= first_ns);
				expect_recent(pair->b.context, cq);
				has_received = true;
			} else {
				CHECK_EQUAL(cq->wr_id, 20);
				has_read = true;
			}
			error = ibv_next_poll(cq);
		} while (!error);
		CHECK_EQUAL(error, ENOENT);
	}
	expect_completion(pair->a.cq, 2, IBV_WC_SUCCESS);
	attr.comp_mask = 1;
	CHECK_EQUAL(ibv_start_poll(extended(&pair->b), &attr), EINVAL);
}

/* All six have completed when the SEND comes, which waits for them. */
static void ignoredOverrunLosesTheNewestOnly(struct pair *pair)
{
	pair_receive(pair, 7, 8);
	for (int i = 0; i < 6; i++)
		pair_post(pair, IBV_WR_RDMA_READ, i, 8);
	CHECK_EQUAL(post_wr(pair->a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_FENCE},
			    sge_of(pair->local, 0, 8)),
		    0);
	expect_completion(pair->b.cq, 7, IBV_WC_SUCCESS);
	expect_completions(pair->a.cq, 0, 3, IBV_WC_SUCCESS);
	expect_no_completion(pair->a.cq);
	CHECK_EQUAL(state_of(pair->a.qp), IBV_QPS_RTS);
	pair_run(pair, IBV_WR_RDMA_READ, 9, 8, IBV_WC_SUCCESS);
}

static void expect_refusal(struct side *side, struct ibv_cq_init_attr_ex attr, int error)
{
	CHECK_REFUSED(ibv_create_cq_ex(side->context, &attr), error);
}

static void argumentsAreChecked(struct side *side)
{
	static const uint64_t unsupported[] = {IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO};
	struct ibv_cq_init_attr_ex flag = {.cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1u << 30};
	/* an ordinary protection domain is no parent domain */
	struct ibv_cq_init_attr_ex domain = {
		.cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = side->pd};

	expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 0}, EINVAL);
	expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 1u << 31}, EINVAL);
	expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 1, .comp_vector = 99}, EINVAL);
	expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 1, .comp_mask = 1u << 30}, EINVAL);
	expect_refusal(side, flag, EOPNOTSUPP);
	for (size_t i = 0; i < COUNT_OF(unsupported); i++)
		expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 1, .wc_flags = unsupported[i]}, EOPNOTSUPP);
	expect_refusal(side, domain, EINVAL);
}

static void onlyFieldsAskedForCanBeRead(struct side *side)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 1, .wc_flags = IBV_WC_EX_WITH_IMM};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(side->context, &attr);

	CHECK(cq && cq->read_imm_data && cq->read_opcode && cq->read_vendor_err && cq->read_wc_flags);
	CHECK(!cq->read_byte_len && !cq->read_completion_ts && !cq->read_src_qp);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void body(void)
{
	struct ibv_cq_init_attr_ex with_times = {
		.cqe = 64,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_cq_init_attr_ex losing = {
		.cqe = 4,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN | IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct pair pair;

	open_extended_pair(&pair, with_times);
	argumentsAreChecked(&pair.a);
	onlyFieldsAskedForCanBeRead(&pair.a);
	fieldsAreThoseOfTheCompletion(&pair);
	close_pair(&pair);
	open_extended_pair(&pair, losing);
	ignoredOverrunLosesTheNewestOnly(&pair);
	close_pair(&pair);
}

MAIN(on_each_path, body)
