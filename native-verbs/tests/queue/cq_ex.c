/* SPDX-License-Identifier: Apache-2.0 */
/* Extended completion queues: what start_poll, next_poll and the read functions give, and what creation refuses. */
#include "softdev_fixture.h"

static struct ibv_cq_ex *give_extended_queue(struct side *side, struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq = ibv_create_cq_ex(side->context, attr);

	CHECK(cq);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side->qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side->cq), 0);
	side->cq = ibv_cq_ex_to_cq(cq);
	side->qp = create_qp(side, 64);
	return cq;
}

static void open_extended_pair(struct pair *pair, struct ibv_cq_init_attr_ex *attr)
{
	struct address to_a, to_b;

	open_side(&pair->a, 64, 64);
	open_side(&pair->b, 64, 64);
	attr->channel = pair->a.channel;
	give_extended_queue(&pair->a, attr);
	attr->channel = pair->b.channel;
	give_extended_queue(&pair->b, attr);
	to_a = address_of(&pair->a);
	to_b = address_of(&pair->b);
	connect_side(&pair->a, &to_b, NULL);
	connect_side(&pair->b, &to_a, NULL);
}

static struct ibv_cq_ex *extended(struct side *side)
{
	return (struct ibv_cq_ex *)side->cq;
}

/* Polls until there is a completion; end_poll is the caller's. */
static struct ibv_cq_ex *start_poll(struct side *side)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;
	struct ibv_poll_cq_attr attr = {0};
	int status;

	while ((status = ibv_start_poll(extended(side), &attr)) == ENOENT && test_now_ms() < deadline)
		test_sleep_ms(1);
	CHECK_EQUAL(status, 0);
	return extended(side);
}

static void send_immediate(struct pair *pair, struct region *from, uint64_t wr_id, uint32_t imm)
{
	struct ibv_sge sge = sge_of(from, 0, 24);
	struct ibv_send_wr *bad, wr = {
					 .wr_id = wr_id,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND_WITH_IMM,
					 .send_flags = IBV_SEND_SIGNALED,
					 .imm_data = htobe32(imm),
				 };

	CHECK_EQUAL(ibv_post_send(pair->a.qp, &wr, &bad), 0);
}

static void fieldsAreThoseOfTheCompletion(struct pair *pair, struct region *from, struct region *to)
{
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_values_ex now = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct ibv_cq_ex *cq;
	uint64_t first_ns;

	CHECK_EQUAL(ibv_start_poll(extended(&pair->b), &attr), ENOENT);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(post_receive(pair->b.qp, 10 + i, sge_of(to, 0, 64)), 0);
	send_immediate(pair, from, 1, 77);
	send_immediate(pair, from, 2, 78);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS); /* polled in the old way */
	cq = start_poll(&pair->b);
	CHECK_EQUAL(cq->wr_id, 10);
	CHECK_EQUAL(cq->status, IBV_WC_SUCCESS);
	CHECK_EQUAL(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	CHECK_EQUAL(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	CHECK_EQUAL(ibv_wc_read_imm_data(cq), htobe32(77));
	CHECK_EQUAL(ibv_wc_read_byte_len(cq), 24);
	CHECK_EQUAL(ibv_wc_read_qp_num(cq), pair->b.qp->qp_num);
	CHECK_EQUAL(ibv_wc_read_src_qp(cq), pair->a.qp->qp_num);
	CHECK_EQUAL(ibv_wc_read_vendor_err(cq), 0);
	CHECK_EQUAL(ibv_wc_read_sl(cq), 0);
	CHECK_EQUAL(ibv_wc_read_slid(cq), 0);
	CHECK_EQUAL(ibv_wc_read_dlid_path_bits(cq), 0);
	first_ns = ibv_wc_read_completion_ts(cq);
	/* what is posted while a completion is read may complete at once, on the same queue */
	CHECK_EQUAL(post_read(pair->b.qp, 20, to, 64, (uintptr_t)from->bytes, from->mr->rkey), 0);
	ibv_end_poll(cq);

	cq = start_poll(&pair->b);
	while (cq->wr_id != 11) {
		CHECK_EQUAL(cq->wr_id, 20);
		if (ibv_next_poll(cq)) {
			ibv_end_poll(cq);
			cq = start_poll(&pair->b);
		}
	}
	CHECK_EQUAL(ibv_wc_read_imm_data(cq), htobe32(78));
	CHECK(ibv_wc_read_completion_ts(cq) >= first_ns);
	CHECK_EQUAL(ibv_query_rt_values_ex(pair->b.context, &now), 0);
	CHECK_EQUAL(now.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	CHECK((uint64_t)now.raw_clock.tv_nsec >= ibv_wc_read_completion_ts(cq));
	CHECK((uint64_t)now.raw_clock.tv_nsec - ibv_wc_read_completion_ts(cq) < WAIT_MS * 1000000ull);
	CHECK(ibv_wc_read_completion_wallclock_ns(cq) / 1000000000u + WAIT_MS / 1000 >= (uint64_t)time(NULL));
	ibv_end_poll(cq);
	expect_completion(pair->a.cq, 2, IBV_WC_SUCCESS);
	test_sleep_ms(50);
	while (!ibv_start_poll(extended(&pair->b), &attr)) { /* the READ, if it was late */
		CHECK_EQUAL(cq->wr_id, 20);
		CHECK_EQUAL(ibv_next_poll(cq), ENOENT);
		ibv_end_poll(cq);
	}
	attr.comp_mask = 1;
	CHECK_EQUAL(ibv_start_poll(extended(&pair->b), &attr), EINVAL);
}

static void ignoredOverrunLosesTheNewestOnly(struct pair *pair, struct region *sink, struct region *source)
{
	uint32_t rkey = source->mr->rkey;

	for (int i = 0; i < 6; i++)
		CHECK_EQUAL(post_read(pair->a.qp, i, sink, 8, (uintptr_t)source->bytes, rkey), 0);
	test_sleep_ms(200);
	for (int i = 0; i < 4; i++)
		expect_completion(pair->a.cq, i, IBV_WC_SUCCESS);
	expect_no_completion(pair->a.cq);
	CHECK_EQUAL(state_of(pair->a.qp), IBV_QPS_RTS);
	CHECK_EQUAL(post_read(pair->a.qp, 9, sink, 8, (uintptr_t)source->bytes, rkey), 0);
	expect_completion(pair->a.cq, 9, IBV_WC_SUCCESS);
}

static void expect_refusal(struct side *side, struct ibv_cq_init_attr_ex attr, int error)
{
	errno = 0;
	CHECK(!ibv_create_cq_ex(side->context, &attr));
	CHECK_EQUAL(errno, error);
}

static void argumentsAreChecked(struct side *side)
{
	const uint64_t unsupported[] = {IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO};

	expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 0}, EINVAL);
	expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 1u << 31}, EINVAL);
	expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 1, .comp_vector = 99}, EINVAL);
	expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 1, .comp_mask = 1u << 30}, EINVAL);
	expect_refusal(side,
		       (struct ibv_cq_init_attr_ex){
			       .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1u << 30},
		       EOPNOTSUPP);
	for (size_t i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++)
		expect_refusal(side, (struct ibv_cq_init_attr_ex){.cqe = 1, .wc_flags = unsupported[i]},
			       EOPNOTSUPP);
	/* an ordinary protection domain is no parent domain */
	expect_refusal(side,
		       (struct ibv_cq_init_attr_ex){
			       .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = side->pd},
		       EINVAL);
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
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct region here, there;
	struct pair pair;

	open_extended_pair(&pair, &attr);
	here = create_region(pair.a.pd, 4096, ALL_REMOTE);
	there = create_region(pair.b.pd, 4096, ALL_REMOTE);
	argumentsAreChecked(&pair.a);
	onlyFieldsAskedForCanBeRead(&pair.a);
	fieldsAreThoseOfTheCompletion(&pair, &here, &there);
	destroy_region(&here);
	destroy_region(&there);
	close_pair(&pair);

	attr = (struct ibv_cq_init_attr_ex){
		.cqe = 4,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN | IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	open_extended_pair(&pair, &attr);
	here = create_region(pair.a.pd, 4096, ALL_REMOTE);
	there = create_region(pair.b.pd, 4096, ALL_REMOTE);
	ignoredOverrunLosesTheNewestOnly(&pair, &here, &there);
	destroy_region(&here);
	destroy_region(&there);
	close_pair(&pair);
}

int main(void)
{
	on_each_path(body);
}
