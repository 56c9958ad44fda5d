/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads post READs, WRITEs and SENDs to one QP while one polls, and another moves a second QP
 * through its states under load: each request completes once, in order, with its bytes.
 */
#include "softdev_fixture.h"

#include <pthread.h>

enum { POSTERS = 2, EACH = 1500, BYTES = 2000, ROUNDS = 60 };

struct load {
	struct pair pair;
	struct region sink, source;
	unsigned int next[POSTERS];
};

struct poster {
	struct load *load;
	unsigned int number;
};

static void *post_all(void *argument)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
						     IBV_WR_SEND};
	struct poster *poster = argument;
	struct load *load = poster->load;

	for (unsigned int i = 0; i < EACH; i++) {
		enum ibv_wr_opcode opcode = opcodes[i % 4];
		struct ibv_sge sge = sge_of(&load->sink, poster->number * BYTES, BYTES);
		int result;

		while ((result = post(load->pair.a.qp, opcode, (uint64_t)poster->number << 32 | i, sge,
				      (uintptr_t)load->source.bytes + (opcode == IBV_WR_RDMA_WRITE ? BYTES : 0),
				      load->source.mr->rkey)) == ENOMEM)
			usleep(50);
		CHECK_EQUAL(result, 0);
	}
	return NULL;
}

static void *refill_receivers(void *argument)
{
	struct load *load = argument;
	unsigned int posted = 0, received = 0, sends = POSTERS * EACH / 4;

	while (received < sends) {
		struct ibv_wc wc;

		while (posted < sends &&
		       !post_receive(load->pair.b.qp, posted, sge_of(&load->source, 2 * BYTES, BYTES)))
			posted++;
		if (!ibv_poll_cq(load->pair.b.cq, 1, &wc)) {
			usleep(50);
			continue;
		}
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		CHECK_EQUAL(wc.wr_id, received);
		received++;
	}
	return NULL;
}

static void everyRequestCompletesOnceInOrder(void)
{
	struct poster posters[POSTERS];
	pthread_t threads[POSTERS + 1];
	struct load load = {0};

	open_pair(&load.pair, NULL, NULL);
	load.sink = create_region(load.pair.a.pd, 4 * BYTES, ALL_REMOTE);
	load.source = create_region(load.pair.b.pd, 4 * BYTES, ALL_REMOTE);
	CHECK(!pthread_create(&threads[POSTERS], NULL, refill_receivers, &load));
	for (unsigned int i = 0; i < POSTERS; i++) {
		posters[i] = (struct poster){&load, i};
		CHECK(!pthread_create(&threads[i], NULL, post_all, &posters[i]));
	}
	for (int i = 0; i < POSTERS * EACH; i++) {
		struct ibv_wc wc = wait_completion(load.pair.a.cq);
		unsigned int number = wc.wr_id >> 32;

		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		CHECK(number < POSTERS);
		CHECK_EQUAL((uint32_t)wc.wr_id, load.next[number]);
		load.next[number]++;
	}
	for (int i = 0; i <= POSTERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	destroy_region(&load.sink);
	destroy_region(&load.source);
	close_pair(&load.pair);
}

static void *post_until_refused(void *argument)
{
	struct load *load = argument;
	int result;

	do {
		result = post_read(load->pair.a.qp, 1, &load->sink, BYTES, (uintptr_t)load->source.bytes,
				   load->source.mr->rkey);
		CHECK(result == 0 || result == ENOMEM || result == EINVAL);
		if (result == ENOMEM)
			usleep(20);
	} while (result != EINVAL);
	return NULL;
}

static void drain(struct side *side)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(side->cq, 1, &wc) > 0)
		CHECK(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR);
}

static void statesChangeUnderLoad(void)
{
	struct load load = {0};
	struct address to_a, to_b;

	open_pair(&load.pair, NULL, NULL);
	load.sink = create_region(load.pair.a.pd, BYTES, ALL_REMOTE);
	load.source = create_region(load.pair.b.pd, BYTES, ALL_REMOTE);
	to_a = address_of(&load.pair.a);
	to_b = address_of(&load.pair.b);
	for (int round = 0; round < ROUNDS; round++) {
		struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR}, reset = {.qp_state = IBV_QPS_RESET};
		pthread_t thread;

		CHECK(!pthread_create(&thread, NULL, post_until_refused, &load));
		for (int i = 0; i < round % 8; i++) {
			usleep(300);
			drain(&load.pair.a);
		}
		if (round % 2)
			CHECK_EQUAL(softverbs_ibv_modify_qp(load.pair.a.qp, &error, IBV_QP_STATE), 0);
		CHECK_EQUAL(softverbs_ibv_modify_qp(load.pair.a.qp, &reset, IBV_QP_STATE), 0);
		CHECK(!pthread_join(thread, NULL));
		CHECK_EQUAL(softverbs_ibv_modify_qp(load.pair.b.qp, &reset, IBV_QP_STATE), 0);
		expect_no_completion(load.pair.a.cq);
		connect_side(&load.pair.b, &to_a, NULL);
		connect_side(&load.pair.a, &to_b, NULL);
	}
	destroy_region(&load.sink);
	destroy_region(&load.source);
	close_pair(&load.pair);
}

static void body(void)
{
	everyRequestCompletesOnceInOrder();
	statesChangeUnderLoad();
}

int main(void)
{
	on_each_path(body);
}
