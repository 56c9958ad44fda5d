/* SPDX-License-Identifier: Apache-2.0 */
/* The ibv_wr_* interface: each operation arrives, data set inline is copied at once, a batch is posted whole or not at all. */
#define ibv_create_qp softverbs_ibv_create_qp /* what the inline ibv_create_qp_ex falls back on */
#include "softdev_fixture.h"

enum {
	RC_OPERATIONS = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
			IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	SLOTS = 8,
};

static struct ibv_qp_init_attr_ex attributes(const struct side *side)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.cap = {SLOTS, SLOTS, 2, 2, 64},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = side->pd,
		.send_ops_flags = RC_OPERATIONS,
	};
}

static void open_extended_side(struct side *side)
{
	struct ibv_qp_init_attr_ex attr;

	open_side(side, 256, 8);
	CHECK(!softverbs_ibv_qp_to_qp_ex(side->qp));
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side->qp), 0);
	attr = attributes(side);
	side->qp = ibv_create_qp_ex(side->context, &attr);
	CHECK(side->qp && softverbs_ibv_qp_to_qp_ex(side->qp));
}

static void expect_receive(struct pair *pair, uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int imm)
{
	struct ibv_wc wc = expect_completion(pair->b.cq, wr_id, IBV_WC_SUCCESS);

	CHECK_EQUAL(wc.opcode, opcode);
	CHECK_EQUAL(wc.wc_flags & IBV_WC_WITH_IMM ? be32toh(wc.imm_data) : 0, imm);
}

static void eachOperationArrives(struct pair *pair)
{
	struct region *here = pair->local, *there = pair->remote;
	struct ibv_qp_ex *qp = softverbs_ibv_qp_to_qp_ex(pair->a.qp);
	uint64_t remote = (uintptr_t)there->bytes, local = (uintptr_t)here->bytes;
	uint32_t rkey = there->mr->rkey, lkey = here->mr->lkey;
	char inline_text[] = "inline";
	struct ibv_data_buf pieces[] = {{inline_text, 2}, {inline_text + 2, 4}};
	struct ibv_sge list[] = {{local, 16, lkey}, {local + 32, 16, lkey}};

	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(post_receive(pair->b.qp, i, sge_of(there, 2048, 64)), 0);
	memset(there->bytes, 0, 256);
	*(uint64_t *)(there->bytes + 128) = 5;
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	qp->wr_id = 1;
	ibv_wr_rdma_write(qp, rkey, remote);
	ibv_wr_set_sge_list(qp, 2, list);
	qp->wr_id = 2;
	ibv_wr_rdma_write_imm(qp, rkey, remote + 64, htobe32(71));
	ibv_wr_set_inline_data_list(qp, 2, pieces);
	qp->wr_id = 3;
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, inline_text, sizeof(inline_text));
	qp->wr_id = 4;
	ibv_wr_send_imm(qp, htobe32(72)); /* without data */
	qp->wr_id = 5;
	ibv_wr_atomic_fetch_add(qp, rkey, remote + 128, 2);
	ibv_wr_set_sge(qp, lkey, local + 512, 8);
	qp->wr_id = 6;
	ibv_wr_atomic_cmp_swp(qp, rkey, remote + 128, 7, 9);
	ibv_wr_set_sge(qp, lkey, local + 520, 8);
	qp->wr_id = 7;
	ibv_wr_rdma_read(qp, rkey, remote);
	ibv_wr_set_sge(qp, lkey, local + 1024, 32);
	memset(inline_text, '#', sizeof(inline_text));
	CHECK_EQUAL(ibv_wr_complete(qp), 0);

	expect_completions(pair->a.cq, 1, 7, IBV_WC_SUCCESS);
	expect_receive(pair, 0, IBV_WC_RECV_RDMA_WITH_IMM, 71);
	expect_receive(pair, 1, IBV_WC_RECV, 0);
	expect_receive(pair, 2, IBV_WC_RECV, 72);
	CHECK(!memcmp(there->bytes, here->bytes, 16) && !memcmp(there->bytes + 16, here->bytes + 32, 16));
	CHECK(!memcmp(there->bytes + 64, "inline", 6));
	CHECK(!memcmp(there->bytes + 2048, "inline", 7));
	CHECK_EQUAL(*(uint64_t *)(here->bytes + 512), 5);
	CHECK_EQUAL(*(uint64_t *)(here->bytes + 520), 7);
	CHECK_EQUAL(*(uint64_t *)(there->bytes + 128), 9);
	CHECK(!memcmp(here->bytes + 1024, there->bytes, 32));
}

/* Nothing of the batch is posted: the receive that stands ready stays, and all slots are free. */
static void expect_nothing_posted(struct pair *pair)
{
	expect_no_completion(pair->a.cq);
	expect_no_completion(pair->b.cq);
	CHECK_EQUAL(state_of(pair->a.qp), IBV_QPS_RTS);
}

static void begin_with_a_good_one(struct ibv_qp_ex *qp)
{
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	qp->wr_id = 20;
	ibv_wr_send(qp);
}

static void oneBadRequestLeavesNothingPosted(struct pair *pair)
{
	struct ibv_qp_ex *qp = softverbs_ibv_qp_to_qp_ex(pair->a.qp);
	struct ibv_sge sge = sge_of(pair->local, 0, 8), three[] = {sge, sge, sge};
	struct softverbs_counters before = counters_now();
	char much[65] = {0};

	begin_with_a_good_one(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 3, three);
	CHECK_EQUAL(ibv_wr_complete(qp), EINVAL);
	begin_with_a_good_one(qp);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, much, sizeof(much));
	ibv_wr_send(qp);
	CHECK_EQUAL(ibv_wr_complete(qp), EINVAL);
	begin_with_a_good_one(qp);
	ibv_wr_rdma_read(qp, 0, 0);
	ibv_wr_set_inline_data(qp, much, 8);
	CHECK_EQUAL(ibv_wr_complete(qp), EINVAL);
	begin_with_a_good_one(qp);
	for (int i = 0; i < SLOTS; i++)
		ibv_wr_send(qp);
	CHECK_EQUAL(ibv_wr_complete(qp), ENOMEM);
	ibv_wr_start(qp);
	ibv_wr_set_sge(qp, sge.lkey, sge.addr, sge.length); /* of nothing */
	CHECK_EQUAL(ibv_wr_complete(qp), EINVAL);
	begin_with_a_good_one(qp);
	ibv_wr_abort(qp);
	ibv_wr_start(qp);
	CHECK_EQUAL(ibv_wr_complete(qp), 0);
	expect_nothing_posted(pair);
	CHECK_EQUAL(counters_now().send_wr_posted, before.send_wr_posted);
	CHECK_EQUAL(counters_now().send_wr_signalled, before.send_wr_signalled);
}

static void whatFailedBeforeDoesNotSpoilTheNextBatch(struct pair *pair)
{
	struct ibv_qp_ex *qp = softverbs_ibv_qp_to_qp_ex(pair->a.qp);

	begin_with_a_good_one(qp);
	CHECK_EQUAL(ibv_wr_complete(qp), 0);
	expect_completion(pair->a.cq, 20, IBV_WC_SUCCESS);
	expect_receive(pair, 3, IBV_WC_RECV, 0);
}

static void expect_refusal(struct side *side, struct ibv_qp_init_attr_ex attr, int error)
{
	CHECK_REFUSED(ibv_create_qp_ex(side->context, &attr), error);
}

/* What differs from the usual attributes by this change is refused. */
#define REFUSED(side, error, change)                                       \
	do {                                                               \
		struct ibv_qp_init_attr_ex asked = attributes(side);       \
		change;                                                    \
		expect_refusal(side, asked, error);                        \
	} while (0)

static void argumentsAreChecked(struct side *side)
{
	REFUSED(side, EOPNOTSUPP, asked.send_ops_flags = IBV_QP_EX_WITH_TSO);
	REFUSED(side, EOPNOTSUPP, asked.send_ops_flags = 1ull << 40);
	REFUSED(side, EOPNOTSUPP, asked.qp_type = IBV_QPT_UD); /* which cannot READ */
	REFUSED(side, EOPNOTSUPP, asked.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		asked.create_flags = IBV_QP_CREATE_SCATTER_FCS);
	REFUSED(side, EOPNOTSUPP, asked.comp_mask |= IBV_QP_INIT_ATTR_XRCD);
	REFUSED(side, EINVAL, asked.comp_mask = 1u << 30);
	REFUSED(side, EINVAL, asked.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS); /* without a protection domain */
	REFUSED(side, EINVAL, asked.cap.max_send_wr = UINT32_MAX);
}

static void onlyOperationsAskedForCanBePosted(struct side *side)
{
	struct ibv_qp_init_attr_ex attr = attributes(side);
	struct ibv_qp *qp;

	attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	qp = ibv_create_qp_ex(side->context, &attr);
	CHECK(qp);
	CHECK(softverbs_ibv_qp_to_qp_ex(qp)->wr_send && !softverbs_ibv_qp_to_qp_ex(qp)->wr_rdma_read);
	CHECK(!softverbs_ibv_qp_to_qp_ex(qp)->wr_set_ud_addr);
	CHECK(attr.cap.max_inline_data >= 64);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(qp), 0);
}

static void inlineDataNeedsNoList(struct side *side)
{
	struct ibv_qp_init_attr_ex attr = attributes(side);
	struct address itself = address_of(side);
	struct connection usual = {0};
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;

	attr.cap.max_send_sge = 0;
	qp = ibv_create_qp_ex(side->context, &attr);
	CHECK(qp);
	itself.qpn = qp->qp_num;
	to_init(qp, ALL_REMOTE);
	to_rtr(qp, &itself, &usual);
	to_rts(qp, &usual);
	ex = softverbs_ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, (char[]){"inline"}, 6);
	CHECK_EQUAL(ibv_wr_complete(ex), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(qp), 0);
}

static void body(void)
{
	static const struct connection all = {.access = ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC};
	struct pair pair;

	open_extended_side(&pair.a);
	open_extended_side(&pair.b);
	connect_sides(&pair.a, &pair.b, &all, &all);
	pair.local = add_region(&pair.a, 4096, ALL_REMOTE);
	pair.remote = add_region(&pair.b, 4096, ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC);
	argumentsAreChecked(&pair.a);
	onlyOperationsAskedForCanBePosted(&pair.a);
	inlineDataNeedsNoList(&pair.a);
	eachOperationArrives(&pair);
	oneBadRequestLeavesNothingPosted(&pair);
	whatFailedBeforeDoesNotSpoilTheNextBatch(&pair);
	close_pair(&pair);
}

MAIN(on_each_path, body)
