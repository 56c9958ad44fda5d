/* SPDX-License-Identifier: Apache-2.0 */
/* SEND and RECV: data, immediate data, inline data, waiting for a receiver, and every error of the two ends. */
#include "softdev_fixture.h"

enum { BYTES = 4096 };

struct scene {
	struct pair pair;
	struct region from, to;
};

static void open_scene(struct scene *scene, const struct connection *a, const struct connection *b)
{
	open_pair(&scene->pair, a, b);
	scene->from = create_region(scene->pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->to = create_region(scene->pair.b.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	fill_pattern(scene->from.bytes, BYTES, 7);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->from);
	destroy_region(&scene->to);
	close_pair(&scene->pair);
}

static int send_bytes(struct scene *scene, uint64_t wr_id, uint32_t length)
{
	return post(scene->pair.a.qp, IBV_WR_SEND, wr_id, sge_of(&scene->from, 0, length), 0, 0);
}

CASE(sendBringsBytesAndLength)
{
	struct scene scene;
	struct ibv_wc wc;

	open_scene(&scene, NULL, NULL);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge_of(&scene.to, 0, BYTES)), 0);
	CHECK_EQUAL(send_bytes(&scene, 1, 1000), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	wc = wait_completion(scene.pair.b.cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_RECV);
	CHECK_EQUAL(wc.byte_len, 1000);
	CHECK_EQUAL(wc.qp_num, scene.pair.b.qp->qp_num);
	CHECK_EQUAL(wc.src_qp, scene.pair.a.qp->qp_num);
	CHECK(!memcmp(scene.from.bytes, scene.to.bytes, 1000));
	CHECK(!scene.to.bytes[1000]);
	close_scene(&scene);
}

CASE(inlineDataIsTakenWhenPosted)
{
	char text[32] = "taken when posted";
	struct ibv_sge sge = {(uintptr_t)text, sizeof(text), 0};
	struct ibv_send_wr *bad, wr = {
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND_WITH_IMM,
					 .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
					 .imm_data = htobe32(77),
				 };
	struct scene scene;
	struct ibv_wc wc;

	open_scene(&scene, NULL, NULL);
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
	memset(text, 'x', sizeof(text));
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge_of(&scene.to, 0, BYTES)), 0);
	wc = wait_completion(scene.pair.b.cq);
	CHECK_EQUAL(wc.wc_flags, IBV_WC_WITH_IMM);
	CHECK_EQUAL(wc.imm_data, htobe32(77));
	CHECK(!strcmp((char *)scene.to.bytes, "taken when posted"));
	expect_completion(scene.pair.a.cq, 0, IBV_WC_SUCCESS);
	close_scene(&scene);
}

CASE(sendsWaitForReceiversInOrder)
{
	struct scene scene;

	open_scene(&scene, NULL, NULL);
	for (int i = 0; i < 10; i++) {
		scene.from.bytes[i] = i;
		CHECK_EQUAL(post(scene.pair.a.qp, IBV_WR_SEND, i, sge_of(&scene.from, i, 1), 0, 0), 0);
	}
	for (int i = 0; i < 10; i++) {
		test_sleep_ms(i % 3);
		CHECK_EQUAL(post_receive(scene.pair.b.qp, i, sge_of(&scene.to, i, 1)), 0);
	}
	for (int i = 0; i < 10; i++) {
		expect_completion(scene.pair.b.cq, i, IBV_WC_SUCCESS);
		expect_completion(scene.pair.a.cq, i, IBV_WC_SUCCESS);
		CHECK_EQUAL(scene.to.bytes[i], i);
	}
	close_scene(&scene);
}

CASE(noReceiverEndsAsRnrRetryExceeded)
{
	static const struct connection few = {.rnr_retry = 2}, none = {.no_rnr_retry = true};
	struct scene scene;

	open_scene(&scene, &few, NULL);
	CHECK_EQUAL(send_bytes(&scene, 1, 8), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK_EQUAL(state_of(scene.pair.b.qp), IBV_QPS_RTS);
	close_scene(&scene);
	open_scene(&scene, &none, NULL);
	CHECK_EQUAL(send_bytes(&scene, 1, 8), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	close_scene(&scene);
}

CASE(tooLongMessageFailsBothEnds)
{
	struct scene scene;

	open_scene(&scene, NULL, NULL);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge_of(&scene.to, 0, 10)), 0);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 6, sge_of(&scene.to, 0, 10)), 0);
	CHECK_EQUAL(send_bytes(&scene, 1, 11), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_completion(scene.pair.b.cq, 5, IBV_WC_LOC_LEN_ERR);
	expect_completion(scene.pair.b.cq, 6, IBV_WC_WR_FLUSH_ERR);
	close_scene(&scene);
}

CASE(badReceiverFailsBothEnds)
{
	struct scene scene;
	struct ibv_sge sge;

	open_scene(&scene, NULL, NULL);
	sge = sge_of(&scene.to, 0, 100);
	sge.lkey++;
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge), 0);
	CHECK_EQUAL(send_bytes(&scene, 1, 11), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_REM_OP_ERR);
	expect_completion(scene.pair.b.cq, 5, IBV_WC_LOC_PROT_ERR);
	close_scene(&scene);
}

/* A receive may be longer than its region, as long as no message reaches that far. */
CASE(onlyWhatTheMessageNeedsOfAReceiveIsLookedAt)
{
	struct scene scene;
	struct ibv_sge sge;

	open_scene(&scene, NULL, NULL);
	sge = sge_of(&scene.to, scene.to.length - 11, 100);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge), 0);
	CHECK_EQUAL(send_bytes(&scene, 1, 11), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 5, IBV_WC_SUCCESS);
	close_scene(&scene);
}

CASE(badSenderFailsAlone)
{
	struct scene scene;
	struct ibv_sge sge;

	open_scene(&scene, NULL, NULL);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge_of(&scene.to, 0, 100)), 0);
	sge = sge_of(&scene.from, 0, 100);
	sge.lkey++;
	CHECK_EQUAL(send_bytes(&scene, 1, 10), 0);
	CHECK_EQUAL(post(scene.pair.a.qp, IBV_WR_SEND, 2, sge, 0, 0), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_LOC_PROT_ERR);
	expect_completion(scene.pair.b.cq, 5, IBV_WC_SUCCESS);
	CHECK_EQUAL(state_of(scene.pair.b.qp), IBV_QPS_RTS);
	close_scene(&scene);
}

CASE(unmappedSenderFailsWithoutACrash)
{
	struct scene scene;

	open_scene(&scene, NULL, NULL);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge_of(&scene.to, 0, BYTES)), 0);
	CHECK(!mprotect(scene.from.bytes, BYTES, PROT_NONE));
	CHECK_EQUAL(send_bytes(&scene, 1, 10), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_LOC_PROT_ERR);
	close_scene(&scene);
}

int main(void)
{
	run_cases();
}
