/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a chain of READs the first that cannot be done keeps its cause, whatever it is and wherever it stands: those before
 * it bring their bytes, those behind it are flushed. The same on every path, signalled or not, whether the READs are of
 * one region or of many, of files and of memory, and whether they follow one another there.
 */
#include "softdev_fixture.h"

#include <pthread.h>

enum { CHAIN = 64, BYTES = 512 * 1024, BLOCK = BYTES / CHAIN };

enum defect {
	WRONG_RKEY,
	BEYOND_THE_REGION,
	REGION_DEREGISTERED,
	WRONG_LKEY,
	BEYOND_THE_SINK,
	SINK_READ_ONLY,
	SINK_UNMAPPED,
	FILE_TRUNCATED,
	DEFECTS
};

enum layout {
	APART,	    /* blocks of one region, with gaps between them */
	NEIGHBOURS, /* blocks of one file, without gaps */
	SPREAD,	    /* blocks of several files and of memory in turns, without gaps in the sink */
	UNSEEN,	    /* the same, and nothing was read from them before */
	LAYOUTS
};

enum { SOURCES = 16 };

/* READ i brings block i of sources[i % source_count] to block i of the sink. */
static struct region *sources[SOURCES];
static int source_count;
static enum layout layout;

struct chain {
	struct ibv_send_wr wr[CHAIN];
	struct ibv_sge sge[CHAIN];
};

static const struct region *source_of(int i)
{
	return sources[i % source_count];
}

static uint32_t length_of(int i)
{
	return layout == APART ? BLOCK - i * 7 : BLOCK;
}

static struct region *add_file(struct side *side)
{
	return keep_region(side, create_file_region(side->pd, BYTES, ALL_REMOTE));
}

/* Reads from NEIGHBOURS and from SPREAD sources once, because only READs with known keys make a batch. */
static void open_sources(struct pair *pair)
{
	source_count = layout >= SPREAD ? SOURCES : 1;
	for (int i = 0; i < source_count; i++) {
		if (layout == APART)
			sources[i] = pair->remote;
		else if (layout == NEIGHBOURS || i % 4)
			sources[i] = add_file(&pair->b);
		else
			sources[i] = add_region(&pair->b, BYTES, ALL_REMOTE);
		fill_pattern(sources[i]->bytes, BYTES, 3 + i);
		if (layout == NEIGHBOURS || layout == SPREAD)
			read_and_expect(&pair->a, CHAIN, pair->local, 1, (uintptr_t)sources[i]->bytes,
					sources[i]->mr->rkey, IBV_WC_SUCCESS);
	}
}

static void fill_chain(struct chain *chain, const struct pair *pair, unsigned int send_flags)
{
	for (int i = 0; i < CHAIN; i++) {
		chain->sge[i] = sge_of(pair->local, i * BLOCK, length_of(i));
		chain_read(chain->wr, i, CHAIN, &chain->sge[i], (uintptr_t)source_of(i)->bytes + i * BLOCK,
			   source_of(i)->mr->rkey);
		chain->wr[i].send_flags = send_flags;
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
		wr->wr.rdma.remote_addr = (uintptr_t)source_of(k)->bytes + BYTES - length_of(k) + 1;
		return IBV_WC_REM_ACCESS_ERR;
	case REGION_DEREGISTERED:
		other = add_region(&pair->b, BYTES, ALL_REMOTE);
		wr->wr.rdma.remote_addr = (uintptr_t)other->bytes;
		wr->wr.rdma.rkey = other->mr->rkey;
		CHECK_EQUAL(softverbs_ibv_dereg_mr(other->mr), 0);
		other->mr = NULL;
		return IBV_WC_REM_ACCESS_ERR;
	case FILE_TRUNCATED:
		other = layout == NEIGHBOURS ? sources[0] : add_file(&pair->b);
		CHECK(!ftruncate(other->fd, (off_t)k * BLOCK));
		wr->wr.rdma.remote_addr = (uintptr_t)other->bytes + k * BLOCK;
		wr->wr.rdma.rkey = other->mr->rkey;
		return IBV_WC_REM_OP_ERR;
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

/* Whether the defect makes READ k fail: a file that ends within a page still has the rest of that page, as zeros. */
static bool spoils(int k, enum defect defect)
{
	return defect != FILE_TRUNCATED || k * BLOCK % sysconf(_SC_PAGESIZE) == 0;
}

static void expect_first_failure_at(int k, enum defect defect, bool signalled)
{
	enum ibv_wc_status expected;
	struct ibv_send_wr *bad;
	struct chain chain;
	struct pair pair;

	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	open_sources(&pair);
	fill_chain(&chain, &pair, signalled ? IBV_SEND_SIGNALED : 0);
	expected = spoil(&chain, &pair, k, defect);
	CHECK_EQUAL(ibv_post_send(pair.a.qp, chain.wr, &bad), 0);
	for (int i = 0; signalled && i < k; i++)
		CHECK_EQUAL(expect_completion(pair.a.cq, i, IBV_WC_SUCCESS).byte_len, length_of(i));
	expect_completion(pair.a.cq, k, expected);
	expect_completions(pair.a.cq, k + 1, CHAIN - 1, IBV_WC_WR_FLUSH_ERR);
	expect_no_completion(pair.a.cq);
	for (int i = 0; i < k; i++)
		CHECK(!memcmp(pair.local->bytes + i * BLOCK, source_of(i)->bytes + i * BLOCK, length_of(i)));
	expect_state(pair.a.qp, IBV_QPS_ERR);
	if (expected != IBV_WC_LOC_PROT_ERR)
		expect_state(pair.b.qp, IBV_QPS_ERR);
	else
		CHECK_EQUAL(state_of(pair.b.qp), IBV_QPS_RTS);
	close_pair(&pair);
}

/* Waits for the event, and finds all completions of the batch there. */
static void *take_all_at_once(void *argument)
{
	struct side *side = argument;
	struct ibv_wc wc[CHAIN];
	int polled = 0;

	CHECK(take_cq_event(side->channel) == side->cq);
	while (polled < CHAIN) {
		int now = ibv_poll_cq(side->cq, CHAIN - polled, wc);

		CHECK(now == CHAIN || test_path_is_wire() || test_device());
		for (int i = 0; i < now; i++, polled++) {
			CHECK_EQUAL(wc[i].status, IBV_WC_SUCCESS);
			CHECK_EQUAL(wc[i].wr_id, polled);
		}
	}
	return NULL;
}

static void expect_all_at_once(void)
{
	struct ibv_send_wr *bad;
	struct chain chain;
	pthread_t thread;
	struct pair pair;

	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	open_sources(&pair);
	fill_chain(&chain, &pair, IBV_SEND_SIGNALED);
	CHECK_EQUAL(ibv_req_notify_cq(pair.a.cq, 0), 0);
	CHECK(!pthread_create(&thread, NULL, take_all_at_once, &pair.a));
	CHECK_EQUAL(ibv_post_send(pair.a.qp, chain.wr, &bad), 0);
	CHECK(!pthread_join(thread, NULL));
	for (int i = 0; i < CHAIN; i++)
		CHECK(!memcmp(pair.local->bytes + i * BLOCK, source_of(i)->bytes + i * BLOCK, length_of(i)));
	close_pair(&pair);
}

static void body(void)
{
	static const int places[] = {1, 30, 0, CHAIN - 1};

	for (layout = 0; layout < LAYOUTS; layout++)
		for (enum defect defect = 0; defect < DEFECTS; defect++)
			for (unsigned int i = 0; i < (layout == APART ? COUNT_OF(places) : 2); i++)
				if (spoils(places[i], defect))
					expect_first_failure_at(places[i], defect, i % 2 == (unsigned int)defect % 2);
	layout = SPREAD;
	expect_all_at_once();
}

int main(void)
{
	on_each_path(body);
	if (!test_device())
		end_on_path("auto", start_on_path("auto", body));
}
