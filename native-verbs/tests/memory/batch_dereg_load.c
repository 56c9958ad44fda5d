/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions are deregistered and given other contents while a peer reads them by chains: a READ that succeeds brought the
 * bytes of its region. A sink that is deregistered meanwhile is not written to any more.
 */
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BLOCK = 8000, CHAIN = 32, BYTES = BLOCK * CHAIN, ROUNDS = 120 };

/* `remote` and `other` are read in turns. */
static struct pair pair;
static struct region *other;
static int round_number;
static _Atomic uint64_t chains;

static bool is_all(const uint8_t *bytes, uint8_t value, size_t length)
{
	return bytes[0] == value && !memcmp(bytes, bytes + 1, length - 1);
}

/* Posts chains that read both regions in turns until one fails; checks what came before that. */
static enum ibv_wc_status read_until_refused(uint32_t lkey, const uint32_t *rkeys, bool sink_is_taken)
{
	const struct region *sources[] = {pair.remote, other};
	enum ibv_wc_status worst = IBV_WC_SUCCESS;
	struct ibv_send_wr wr[CHAIN], *bad;
	struct ibv_sge sge[CHAIN];

	for (int i = 0; i < CHAIN; i++) {
		sge[i] = (struct ibv_sge){(uintptr_t)pair.local->bytes + i * BLOCK, BLOCK, lkey};
		chain_read(wr, i, CHAIN, &sge[i], (uintptr_t)sources[i % 2]->bytes + i * BLOCK, rkeys[i % 2]);
	}
	while (worst == IBV_WC_SUCCESS) {
		CHECK_EQUAL(ibv_post_send(pair.a.qp, wr, &bad), 0);
		atomic_fetch_add(&chains, 1);
		for (int i = 0; i < CHAIN; i++) {
			struct ibv_wc wc = wait_completion(pair.a.cq);

			CHECK_EQUAL(wc.wr_id, i);
			if (wc.status == IBV_WC_SUCCESS)
				CHECK(sink_is_taken || is_all(pair.local->bytes + i * BLOCK, i % 2 ? 0x22 : 0x11, BLOCK));
			else if (worst == IBV_WC_SUCCESS)
				worst = wc.status;
			else
				CHECK_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
		}
	}
	return worst;
}

static void wait_for_load(void)
{
	while (atomic_load(&chains) < 3)
		usleep(20);
	usleep(round_number % 13 * 40);
}

static void *withdraw_source(void *unused)
{
	(void)unused;
	wait_for_load();
	CHECK_EQUAL(softverbs_ibv_dereg_mr(other->mr), 0);
	other->mr = NULL;
	if (other->fd < 0) /* a file keeps its bytes for who has its descriptor */
		memset(other->bytes, 0xee, BYTES);
	return NULL;
}

static void *withdraw_sink(void *unused)
{
	(void)unused;
	wait_for_load();
	CHECK_EQUAL(softverbs_ibv_dereg_mr(pair.local->mr), 0);
	pair.local->mr = NULL;
	memset(pair.local->bytes, 0x77, BYTES);
	return NULL;
}

static void run(bool of_sink)
{
	uint32_t lkey, rkeys[2];
	pthread_t thread;

	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	other = add_region(&pair.b, BYTES, ALL_REMOTE);
	memset(pair.remote->bytes, 0x11, BYTES);
	memset(other->bytes, 0x22, BYTES);
	lkey = pair.local->mr->lkey;
	rkeys[0] = pair.remote->mr->rkey;
	rkeys[1] = other->mr->rkey;
	atomic_store(&chains, 0);
	CHECK(!pthread_create(&thread, NULL, of_sink ? withdraw_sink : withdraw_source, NULL));
	CHECK_EQUAL(read_until_refused(lkey, rkeys, of_sink), of_sink ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR);
	CHECK(!pthread_join(thread, NULL));
	if (of_sink)
		CHECK(is_all(pair.local->bytes, 0x77, BYTES));
	close_pair(&pair);
}

static void body(void)
{
	for (round_number = 0; round_number < ROUNDS; round_number++)
		run(round_number % 2);
}

MAIN(on_each_path, body)
