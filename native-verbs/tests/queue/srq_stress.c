/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared receive queue under load: one thread posts to it, another polls, one changes its size and limit, while the
 * QPs that share it come and go. Every message that was acknowledged is received once.
 */
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { QPS = 4, RECEIVES = 32, SLOT = 64, ROUNDS = 12, SENDS = 40 };

static struct side to;
static struct ibv_srq *srq;
static struct region *sink;
static atomic_bool stopping;
static atomic_int received, lost; /* lost: completed as failed with the queue pair it came from */

static void *post_receives(void *unused)
{
	uint64_t slot = 0;

	(void)unused;
	while (!atomic_load(&stopping)) {
		int error = post_shared(srq, slot, sge_of(sink, slot % RECEIVES * SLOT, SLOT));

		CHECK(!error || error == ENOMEM);
		slot += !error;
		if (error)
			usleep(50);
	}
	return NULL;
}

static void *poll_completions(void *unused)
{
	struct ibv_wc wc[8];

	(void)unused;
	while (!atomic_load(&stopping)) {
		int count = ibv_poll_cq(to.cq, 8, wc);

		CHECK(count >= 0);
		for (int i = 0; i < count; i++) {
			CHECK(wc[i].status == IBV_WC_SUCCESS || wc[i].status == IBV_WC_WR_FLUSH_ERR);
			atomic_fetch_add(wc[i].status == IBV_WC_SUCCESS ? &received : &lost, 1);
		}
		if (!count)
			usleep(50);
	}
	return NULL;
}

static void *change_queue(void *unused)
{
	struct ibv_srq_attr attr = {.max_wr = RECEIVES, .srq_limit = 5};

	(void)unused;
	while (!atomic_load(&stopping)) {
		struct ibv_async_event event;

		attr.max_wr = RECEIVES + (attr.max_wr == RECEIVES);
		CHECK_EQUAL(softverbs_ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) % EINVAL, 0);
		while (test_readable(to.context->async_fd, 1)) {
			CHECK_EQUAL(softverbs_ibv_get_async_event(to.context, &event), 0);
			softverbs_ibv_ack_async_event(&event);
		}
	}
	return NULL;
}

/* A connection of its own, some messages, and away with the receiver while the last ones may be under way. */
static void *send_messages(void *unused)
{
	struct ibv_qp_init_attr init = {
		.send_cq = to.cq, .recv_cq = to.cq, .srq = srq, .cap = {4, 0, 1, 0, 0}, .qp_type = IBV_QPT_RC};

	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		struct side from, far = to;
		struct region *source;

		open_side(&from, 64, SENDS);
		source = add_region(&from, SLOT, IBV_ACCESS_LOCAL_WRITE);
		far.qp = softverbs_ibv_create_qp(to.pd, &init);
		CHECK(far.qp);
		connect_sides(&from, &far, NULL, NULL);
		for (int i = 0; i < SENDS; i++)
			CHECK_EQUAL(post(from.qp, IBV_WR_SEND, i, sge_of(source, 0, SLOT), 0, 0), 0);
		expect_completions(from.cq, 0, (round % 2 ? SENDS : SENDS / 2) - 1, IBV_WC_SUCCESS);
		CHECK_EQUAL(softverbs_ibv_destroy_qp(far.qp), 0);
		close_side(&from);
	}
	return NULL;
}

int main(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = RECEIVES, .max_sge = 1}};
	void *(*const bodies[])(void *) = {post_receives, poll_completions, change_queue};
	pthread_t helpers[3], senders[QPS];

	alarm(TEST_SECONDS);
	open_side(&to, 4096, 4);
	sink = add_region(&to, RECEIVES * SLOT, IBV_ACCESS_LOCAL_WRITE);
	srq = softverbs_ibv_create_srq(to.pd, &init);
	CHECK(srq);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_create(&helpers[i], NULL, bodies[i], NULL));
	for (int i = 0; i < QPS; i++)
		CHECK(!pthread_create(&senders[i], NULL, send_messages, NULL));
	for (int i = 0; i < QPS; i++)
		CHECK(!pthread_join(senders[i], NULL));
	CHECK(atomic_load(&received) > 0);
	atomic_store(&stopping, true);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(helpers[i], NULL));
	CHECK_EQUAL(softverbs_ibv_destroy_srq(srq), 0);
	close_side(&to);
	check_no_leaks();
}
