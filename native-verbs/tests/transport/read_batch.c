/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a chain of READs the first that cannot be done keeps its cause, whatever it is and wherever it stands: those before
 * it bring their bytes, those behind it are flushed. The same on every path, signalled or not.
 */
#include "softdev_fixture.h"

enum { CHAIN = 64, BYTES = 512 * 1024, BLOCK = BYTES / CHAIN };

enum defect {
	WRONG_RKEY,
	BEYOND_THE_REGION,
	REGION_DEREGISTERED,
	WRONG_LKEY,
	BEYOND_THE_SINK,
	SINK_READ_ONLY,
	SINK_UNMAPPED,
	DEFECTS
};

struct chain {
	struct ibv_send_wr wr[CHAIN];
	struct ibv_sge sge[CHAIN];
};

/* Lengths differ; block i goes to the place of i. */
static uint32_t length_of(int i)
{
	return BLOCK - i * 7;
}

static void fill_chain(struct chain *chain, const struct pair *pair, unsigned int send_flags)
{
	for (int i = 0; i < CHAIN; i++) {
		chain->sge[i] = sge_of(pair->local, i * BLOCK, length_of(i));
		chain->wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < CHAIN ? &chain->wr[i + 1] : NULL,
			.sg_list = &chain->sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = send_flags,
			.wr.rdma = {(uintptr_t)pair->remote->bytes + i * BLOCK, pair->remote->mr->rkey},
		};
	}
}

/* Returns the status that this must end with. */
static enum ibv_wc_status spoil(struct chain *chain, struct pair *pair, int k, enum defect defect)
{
	struct ibv_send_wr *wr = &chain->wr[k];
	struct ibv_sge *sge = &chain->sge[k];
	struct region *other;

	switch (defect) {
	case WRONG_RKEY:
		wr->wr.rdma.rkey++;
		return IBV_WC_REM_ACCESS_ERR;
	case BEYOND_THE_REGION:
		wr->wr.rdma.remote_addr = (uintptr_t)pair->remote->bytes + BYTES - length_of(k) + 1;
		return IBV_WC_REM_ACCESS_ERR;
	case REGION_DEREGISTERED:
		other = add_region(&pair->b, BYTES, ALL_REMOTE);
		wr->wr.rdma.remote_addr = (uintptr_t)other->bytes;
		wr->wr.rdma.rkey = other->mr->rkey;
		CHECK_EQUAL(softverbs_ibv_dereg_mr(other->mr), 0);
		other->mr = NULL;
		return IBV_WC_REM_ACCESS_ERR;
	case WRONG_LKEY:
		sge->lkey++;
		break;
	case BEYOND_THE_SINK:
		sge->addr = (uintptr_t)pair->local->bytes + BYTES - length_of(k) + 1;
		break;
	case SINK_READ_ONLY:
		*sge = sge_of(add_region(&pair->a, BYTES, 0), 0, length_of(k));
		break;
	default:
		other = add_region(&pair->a, BYTES, IBV_ACCESS_LOCAL_WRITE);
		CHECK(!mprotect(other->bytes, BYTES, PROT_NONE));
		*sge = sge_of(other, 0, length_of(k));
		break;
	}
	return IBV_WC_LOC_PROT_ERR;
}

static void expect_first_failure_at(int k, enum defect defect, bool signalled)
{
	enum ibv_wc_status expected;
	struct ibv_send_wr *bad;
	struct chain chain;
	struct pair pair;

	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	fill_pattern(pair.remote->bytes, BYTES, 3);
	fill_chain(&chain, &pair, signalled ? IBV_SEND_SIGNALED : 0);
	expected = spoil(&chain, &pair, k, defect);
	CHECK_EQUAL(ibv_post_send(pair.a.qp, chain.wr, &bad), 0);
	for (int i = 0; signalled && i < k; i++)
		CHECK_EQUAL(expect_completion(pair.a.cq, i, IBV_WC_SUCCESS).byte_len, length_of(i));
	expect_completion(pair.a.cq, k, expected);
	expect_completions(pair.a.cq, k + 1, CHAIN - 1, IBV_WC_WR_FLUSH_ERR);
	expect_no_completion(pair.a.cq);
	for (int i = 0; i < k; i++)
		CHECK(!memcmp(pair.local->bytes + i * BLOCK, pair.remote->bytes + i * BLOCK, length_of(i)));
	expect_state(pair.a.qp, IBV_QPS_ERR);
	if (expected == IBV_WC_REM_ACCESS_ERR)
		expect_state(pair.b.qp, IBV_QPS_ERR);
	else
		CHECK_EQUAL(state_of(pair.b.qp), IBV_QPS_RTS);
	close_pair(&pair);
}

static void body(void)
{
	static const int places[] = {0, 1, 30, CHAIN - 1};

	for (enum defect defect = 0; defect < DEFECTS; defect++)
		for (unsigned int i = 0; i < COUNT_OF(places); i++)
			expect_first_failure_at(places[i], defect, i % 2 == (unsigned int)defect % 2);
}

int main(void)
{
	on_each_path(body);
}
