/* SPDX-License-Identifier: Apache-2.0 */
/* WRITE is executed by the responder: bytes, immediate data, order with READ, and its refusals. */
#include "softdev_fixture.h"

enum { BYTES = 3 << 20 };

struct scene {
	struct pair pair;
	struct region from, to;
};

static void open_scene(struct scene *scene, int access, const struct connection *b)
{
	open_pair(&scene->pair, NULL, b);
	scene->from = create_region(scene->pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->to = create_region(scene->pair.b.pd, BYTES, access);
	fill_pattern(scene->from.bytes, BYTES, 3);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->from);
	destroy_region(&scene->to);
	close_pair(&scene->pair);
}

static int write_bytes(struct scene *scene, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t length,
		       uint32_t rkey)
{
	return post(scene->pair.a.qp, opcode, wr_id, sge_of(&scene->from, 0, length),
		    (uintptr_t)scene->to.bytes, rkey);
}

CASE(writeBringsBytes)
{
	struct scene scene;

	open_scene(&scene, ALL_REMOTE, NULL);
	CHECK_EQUAL(write_bytes(&scene, IBV_WR_RDMA_WRITE, 1, BYTES, scene.to.mr->rkey), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(scene.from.bytes, scene.to.bytes, BYTES));
	expect_no_completion(scene.pair.b.cq);
	close_scene(&scene);
}

CASE(readSeesTheWriteBeforeIt)
{
	struct scene scene;
	struct region back;

	open_scene(&scene, ALL_REMOTE, NULL);
	back = create_region(scene.pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	CHECK_EQUAL(write_bytes(&scene, IBV_WR_RDMA_WRITE, 1, BYTES, scene.to.mr->rkey), 0);
	CHECK_EQUAL(post_read(scene.pair.a.qp, 2, &back, BYTES, (uintptr_t)scene.to.bytes,
			      scene.to.mr->rkey),
		    0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK(!memcmp(scene.from.bytes, back.bytes, BYTES));
	destroy_region(&back);
	close_scene(&scene);
}

CASE(immediateDataTakesAReceiver)
{
	struct scene scene;
	struct ibv_wc wc;

	open_scene(&scene, ALL_REMOTE, NULL);
	CHECK_EQUAL(write_bytes(&scene, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 100, scene.to.mr->rkey), 0);
	test_sleep_ms(5);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 9, sge_of(&scene.to, 0, 0)), 0);
	wc = wait_completion(scene.pair.b.cq);
	CHECK_EQUAL(wc.wr_id, 9);
	CHECK_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQUAL(wc.byte_len, 100);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(scene.from.bytes, scene.to.bytes, 100));
	close_scene(&scene);
}

static void expect_refusal(struct scene *scene, uint32_t rkey, enum ibv_wc_status status,
			   enum ibv_event_type event)
{
	CHECK_EQUAL(write_bytes(scene, IBV_WR_RDMA_WRITE, 1, 100, rkey), 0);
	expect_completion(scene->pair.a.cq, 1, status);
	expect_async(&scene->pair.b, event);
	expect_state(scene->pair.b.qp, IBV_QPS_ERR);
	CHECK(!scene->to.bytes[0]);
	close_scene(scene);
}

CASE(wrongKeyIsRefused)
{
	struct scene scene;

	open_scene(&scene, ALL_REMOTE, NULL);
	expect_refusal(&scene, scene.to.mr->rkey ^ 1, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

CASE(regionWithoutRemoteWriteIsRefused)
{
	struct scene scene;

	open_scene(&scene, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, NULL);
	expect_refusal(&scene, scene.to.mr->rkey, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

CASE(queuePairWithoutRemoteWriteIsRefused)
{
	static const struct connection narrow = {.access = IBV_ACCESS_REMOTE_READ};
	struct scene scene;

	open_scene(&scene, ALL_REMOTE, &narrow);
	expect_refusal(&scene, scene.to.mr->rkey, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

int main(void)
{
	on_each_path(run_cases);
}
