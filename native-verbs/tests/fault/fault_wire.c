/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are lost, late, damaged or cut off, links that end, fall silent or cannot be made; over the wire, within a host and by TCP. */
#include "fault_fixture.h"

static const struct connection patient = {.timeout = 10, .retry_count = 1};

static void aLostAnswerEndsInRetries(void)
{
	struct fault_scene scene;

	open_scene(&scene, &patient);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_WRITE, 1, 64), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_WRITE, 2, 64), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_RETRY_EXC_ERR);
	close_scene(&scene);
}

static void aWriteIsDamagedOnItsWay(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	memset(scene.sink.bytes, 0x10, SCENE_BYTES);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_WRITE, 1, 40000), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	for (int i = 0; i < 40000; i++)
		CHECK_EQUAL(scene.source.bytes[i], i == 33333 ? 0x11 : 0x10);
	close_scene(&scene);
}

static void readDataIsDamaged(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	expect_good_read(&scene, 1);
	CHECK_EQUAL(scene_read(&scene, 2), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene.sink.bytes[7], 0x54);
	close_scene(&scene);
}

static void theEndOfTheDataIsMissing(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(scene_read(&scene, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene.sink.bytes[9], 0x55);
	CHECK_EQUAL(scene.sink.bytes[10], 0);
	expect_good_read(&scene, 2);
	close_scene(&scene);
}

static void theLinkEndsBelowARead(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(scene_read(&scene, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_state(scene.pair.a.qp, IBV_QPS_ERR);
	close_scene(&scene);
}

static void theResponderFallsSilent(void)
{
	struct fault_scene scene;
	uint64_t start;

	open_scene(&scene, &patient);
	start = test_now_ms();
	CHECK_EQUAL(scene_read(&scene, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_RETRY_EXC_ERR);
	CHECK(test_now_ms() - start < WAIT_MS);
	close_scene(&scene);
}

static void anAnswerIsLate(void)
{
	struct fault_scene scene;
	uint64_t start;

	open_scene(&scene, NULL);
	start = test_now_ms();
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_WRITE, 1, 64), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK(test_now_ms() - start >= 290);
	close_scene(&scene);
}

static void nobodyIsThere(void)
{
	struct fault_scene scene;

	open_scene(&scene, &patient);
	CHECK_EQUAL(scene_read(&scene, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_RETRY_EXC_ERR);
	close_scene(&scene);
}

/* The first attempts are refused; the retries find the peer. */
static void thePeerIsThereLater(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	expect_good_read(&scene, 1);
	close_scene(&scene);
}

static void aSlowLinkTakesItsTime(void)
{
	struct fault_scene scene;
	uint64_t start;

	open_scene(&scene, NULL);
	start = test_now_ms();
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_READ, 1, 50000), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK(test_now_ms() - start >= 240);
	CHECK_EQUAL(scene.sink.bytes[49999], 0x55);
	close_scene(&scene);
}

static void receiverIsNotReady(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge_of(&scene.source, 0, 64)), 0);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_SEND, 1, 64), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 5, IBV_WC_SUCCESS);
	close_scene(&scene);
}

static void receiverIsNeverReady(void)
{
	const struct connection impatient = {.no_rnr_retry = true};
	struct fault_scene scene;

	open_scene(&scene, &impatient);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge_of(&scene.source, 0, 64)), 0);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_SEND, 1, 64), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	close_scene(&scene);
}

static const struct fault_case cases[] = {
	{"frame:op=ACK,drop,nth=2", aLostAnswerEndsInRetries, "wire"},
	{"frame:op=WRITE,flip,offset=33333", aWriteIsDamagedOnItsWay, "wire"},
	{"frame:op=READ_DATA,flip,offset=7,nth=2", readDataIsDamaged, "wire"},
	{"read:truncate=10", theEndOfTheDataIsMissing, "wire"},
	{"read:truncate=10", theEndOfTheDataIsMissing, "cma"},
	{"frame:op=READ_DATA,truncate=10", theLinkEndsBelowARead, "wire"},
	{"frame:op=READ,cut", theLinkEndsBelowARead, "wire"},
	{"frame:op=READ,silence", theResponderFallsSilent, "wire"},
	{"frame:op=ACK,delay=300", anAnswerIsLate, "wire"},
	{"link:kind=QP,refuse,count=all", nobodyIsThere, "wire"},
	{"link:kind=QP,refuse,count=3", thePeerIsThereLater, "wire"},
	{"link:kind=QP,rate=200000,count=all", aSlowLinkTakesItsTime, "wire"},
	{"frame:op=WRITE,flip,offset=33333", aWriteIsDamagedOnItsWay, "tcp"},
	{"frame:op=READ_DATA,truncate=10", theLinkEndsBelowARead, "tcp"},
	{"link:kind=QP,silence,count=all", nobodyIsThere, "tcp"},
	{"link:kind=QP,rate=200000,count=all", aSlowLinkTakesItsTime, "tcp"},
	{"recv:rnr,count=2", receiverIsNotReady, NULL},
	{"recv:rnr,count=all", receiverIsNeverReady, NULL},
};

int main(int argc, char **argv)
{
	setenv("SOFTVERBS_SECRET", "the secret of this test", 1); /* for TCP */
	return RUN_FAULT_CASES(cases);
}
