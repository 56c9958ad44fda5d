/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads send datagrams to each other's queue pairs, while these are put in error and made again: what arrives is whole and
 * from whom it says, and everything can be given back.
 */
#include "ud_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 30, SENDS = 50, DEPTH = 32, SLOT = 256, RUN_MS = 3000 };

static struct ud_side sides[THREADS];
static _Atomic uint32_t numbers[THREADS];
static atomic_ullong received;

struct message {
	uint32_t from, check;
};

static void add_receive(struct ud_side *ud, uint32_t slot)
{
	post_receive(ud->side.qp, slot, sge_of(&ud->memory, (uint64_t)slot * SLOT, SLOT));
}

/* Takes what is there; a receive that has served is posted again. */
static void poll_once(struct ud_side *ud)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(ud->side.cq, 1, &wc) == 1) {
		struct message message;

		if (wc.wr_id >= DEPTH || wc.status != IBV_WC_SUCCESS)
			continue;
		CHECK_EQUAL(wc.byte_len, GRH_BYTES + sizeof(message));
		memcpy(&message, ud->memory.bytes + wc.wr_id * SLOT + GRH_BYTES, sizeof(message));
		CHECK_EQUAL(message.from, wc.src_qp);
		CHECK_EQUAL(message.check, ~message.from);
		atomic_fetch_add(&received, 1);
		add_receive(ud, wc.wr_id);
	}
}

static void send_some(struct ud_side *ud, unsigned int *seed)
{
	struct message message = {ud->side.qp->qp_num, ~ud->side.qp->qp_num};

	for (int i = 0; i < SENDS; i++) {
		struct ibv_sge sge = {(uintptr_t)&message, sizeof(message), 0};
		struct ibv_send_wr *bad, wr = ud_wr(ud->ah, atomic_load(&numbers[rand_r(seed) % THREADS]), DEPTH, &sge);

		wr.send_flags = IBV_SEND_INLINE | (i % 4 ? 0 : IBV_SEND_SIGNALED);
		ibv_post_send(ud->side.qp, &wr, &bad); /* ENOMEM when it is ahead of its completions */
		poll_once(ud);
	}
}

static void *work(void *argument)
{
	struct ud_side *ud = argument;
	int index = ud - sides;
	unsigned int seed = index + 1;
	uint64_t end = test_now_ms() + RUN_MS;

	for (int round = 0; (round < ROUNDS || atomic_load(&received) <= THREADS) && test_now_ms() < end; round++) {
		for (uint32_t slot = 0; slot < DEPTH; slot++)
			add_receive(ud, slot);
		send_some(ud, &seed);
		if (round % 3 == 0) {
			ud_modify(ud->side.qp, IBV_QPS_ERR, 0, 0);
			poll_once(ud);
		}
		CHECK_EQUAL(softverbs_ibv_destroy_qp(ud->side.qp), 0);
		ud->side.qp = create_qp_of(&ud->side, IBV_QPT_UD, DEPTH);
		ud_to_rts(ud->side.qp, QKEY);
		atomic_store(&numbers[index], ud->side.qp->qp_num);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	alarm(TEST_SECONDS);
	for (int i = 0; i < THREADS; i++) {
		open_ud_side(&sides[i], DEPTH);
		atomic_store(&numbers[i], sides[i].side.qp->qp_num);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, &sides[i]));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(atomic_load(&received) > THREADS); /* most go to queue pairs that are gone, or have no receive */
	for (int i = 0; i < THREADS; i++)
		close_ud_side(&sides[i]);
	check_no_leaks();
}
