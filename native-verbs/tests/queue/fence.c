/* SPDX-License-Identifier: Apache-2.0 */
/* IBV_SEND_FENCE: what is sent behind a READ or an atomic may be what that has brought. */
#include "softdev_fixture.h"

enum { BYTES = 1 << 20, ROUNDS = 30 };

struct scene {
	struct pair pair;
	struct region sink, source, receive;
};

static void open_scene(struct scene *scene)
{
	static const struct connection atomic = {.access = ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC};

	open_pair(&scene->pair, &atomic, &atomic);
	scene->sink = create_region(scene->pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->source = create_region(scene->pair.b.pd, BYTES, ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC);
	scene->receive = create_region(scene->pair.b.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->sink);
	destroy_region(&scene->source);
	destroy_region(&scene->receive);
	close_pair(&scene->pair);
}

/* Both in one call, so that the second is at hand while the first is under way. */
static void post_both(struct scene *scene, struct ibv_send_wr *first, uint32_t length)
{
	struct ibv_sge sge = sge_of(&scene->sink, 0, length);
	struct ibv_send_wr *bad, send = {.wr_id = 2,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE};

	first->wr_id = 1;
	first->sg_list = &sge;
	first->num_sge = 1;
	first->send_flags = IBV_SEND_SIGNALED;
	first->next = &send;
	CHECK_EQUAL(post_receive(scene->pair.b.qp, 3, sge_of(&scene->receive, 0, length)), 0);
	CHECK_EQUAL(ibv_post_send(scene->pair.a.qp, first, &bad), 0);
	expect_completion(scene->pair.a.cq, 1, IBV_WC_SUCCESS);
	expect_completion(scene->pair.a.cq, 2, IBV_WC_SUCCESS);
	expect_completion(scene->pair.b.cq, 3, IBV_WC_SUCCESS);
}

CASE(sendBehindAReadSendsWhatWasRead)
{
	struct scene scene;

	open_scene(&scene);
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_send_wr read = {
			.opcode = IBV_WR_RDMA_READ,
			.wr.rdma = {(uintptr_t)scene.source.bytes, scene.source.mr->rkey},
		};

		fill_pattern(scene.source.bytes, BYTES, i);
		memset(scene.sink.bytes, 0, BYTES);
		post_both(&scene, &read, BYTES);
		CHECK(!memcmp(scene.receive.bytes, scene.source.bytes, BYTES));
	}
	close_scene(&scene);
}

CASE(sendBehindAnAtomicSendsTheValueBefore)
{
	struct scene scene;

	open_scene(&scene);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		struct ibv_send_wr add = {
			.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
			.wr.atomic = {(uintptr_t)scene.source.bytes, 1, 0, scene.source.mr->rkey},
		};
		uint64_t received;

		memset(scene.sink.bytes, 0xff, 8);
		post_both(&scene, &add, 8);
		memcpy(&received, scene.receive.bytes, 8);
		CHECK_EQUAL(received, i);
	}
	close_scene(&scene);
}

int main(void)
{
	on_each_path(run_cases);
}
