/* SPDX-License-Identifier: Apache-2.0 */
/* Calls fail with the errno asked for, at the event asked for, and leave nothing behind. */
#include "fault_fixture.h"

static void eachCreatingCallFailsOnce(void)
{
	struct ibv_device **list = softverbs_ibv_get_device_list(NULL);
	struct fault_scene scene;

	errno = 0;
	CHECK(!softverbs_ibv_open_device(list[0]) && errno == ENODEV);
	softverbs_ibv_free_device_list(list);
	{
		struct ibv_context *context = open_device();
		struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
		struct ibv_pd *pd;
		struct ibv_cq *cq;

		CHECK(!softverbs_ibv_alloc_pd(context) && errno == EPERM);
		CHECK(!softverbs_ibv_create_comp_channel(context) && errno == EMFILE);
		CHECK(!softverbs_ibv_create_cq(context, 8, NULL, NULL, 0) && errno == ENOSPC);
		pd = softverbs_ibv_alloc_pd(context);
		cq = softverbs_ibv_create_cq(context, 8, NULL, NULL, 0);
		CHECK(pd && cq);
		init.send_cq = init.recv_cq = cq;
		CHECK(!softverbs_ibv_create_qp(pd, &init) && errno == ENOMEM);
		CHECK_EQUAL(softverbs_ibv_destroy_cq(cq), 0);
		CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), 0);
		CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
	}
	open_scene(&scene, NULL);
	expect_good_read(&scene, 1);
	close_scene(&scene);
}

static void moveToOneStateFails(void)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.a.qp, &error, IBV_QP_STATE), EIO);
	CHECK_EQUAL(state_of(scene.pair.a.qp), IBV_QPS_RTS);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.a.qp, &error, IBV_QP_STATE), 0);
	close_scene(&scene);
}

enum { WRS = 5 };

static void postEndsAtOneRequest(void)
{
	struct ibv_send_wr wrs[WRS] = {{0}}, *bad = NULL;
	struct fault_scene scene;
	struct ibv_sge sge;

	open_scene(&scene, NULL);
	sge = sge_of(&scene.sink, 0, 64);
	for (int i = 0; i < WRS; i++)
		wrs[i] = (struct ibv_send_wr){.wr_id = i,
					      .next = i + 1 < WRS ? &wrs[i + 1] : NULL,
					      .sg_list = &sge,
					      .num_sge = 1,
					      .opcode = IBV_WR_RDMA_READ,
					      .send_flags = IBV_SEND_SIGNALED,
					      .wr.rdma = {(uintptr_t)scene.source.bytes, scene.source.mr->rkey}};
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, wrs, &bad), ENOMEM);
	CHECK(bad == &wrs[2]);
	expect_completion(scene.pair.a.cq, 0, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	expect_no_completion(scene.pair.a.cq);
	expect_good_read(&scene, 9);
	close_scene(&scene);
}

static void receiveIsRefused(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(post_receive(scene.pair.a.qp, 1, sge_of(&scene.sink, 0, 8)), 0);
	CHECK_EQUAL(post_receive(scene.pair.a.qp, 2, sge_of(&scene.sink, 0, 8)), ENOMEM);
	CHECK_EQUAL(post_receive(scene.pair.a.qp, 3, sge_of(&scene.sink, 0, 8)), 0);
	close_scene(&scene);
}

/* Only WRITEs of 1000 bytes or more: what the filters keep out is not even counted. */
static void filtersLetOthersPass(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	expect_good_read(&scene, 1);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_WRITE, 2, 999), 0);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_READ, 3, 2000), 0);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_WRITE, 4, 1000), EFAULT);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_WRITE, 5, 1000), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 5, IBV_WC_SUCCESS);
	close_scene(&scene);
}

static void everyThirdFails(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	for (int i = 1; i <= 12; i++) {
		bool fails = i >= 2 && (i - 2) % 3 == 0 && i < 11;

		CHECK_EQUAL(scene_read(&scene, i), fails ? EAGAIN : 0);
		if (!fails)
			expect_completion(scene.pair.a.cq, i, IBV_WC_SUCCESS);
	}
	close_scene(&scene);
}

/* One in four, at the same events whenever the seed is the same; seed 5 and 6 differ. */
static uint64_t posts_that_fail(void)
{
	uint64_t failed = 0;
	struct fault_scene scene;

	open_scene(&scene, NULL);
	for (int i = 0; i < 60; i++) {
		int error = scene_read(&scene, i);

		if (error)
			failed |= 1ull << i;
		else
			expect_completion(scene.pair.a.cq, i, IBV_WC_SUCCESS);
	}
	close_scene(&scene);
	return failed;
}

static void drawsBySeed(void)
{
	const char *path = getenv("FAULT_DRAWN");
	FILE *file = fopen(path, "a+");
	uint64_t drawn = posts_that_fail();
	unsigned long long before;
	int others = 0;

	CHECK(file);
	CHECK(__builtin_popcountll(drawn) > 4 && __builtin_popcountll(drawn) < 30);
	for (rewind(file); fscanf(file, "%llx", &before) == 1; others++)
		CHECK_EQUAL(drawn == before, others == 0 && !strstr(getenv("SOFTVERBS_FAULT"), "seed=6"));
	fprintf(file, "%llx\n", (unsigned long long)drawn);
	CHECK(!fclose(file));
}

static void callTakesLonger(void)
{
	struct ibv_context *context = open_device();
	uint64_t start = test_now_ms();
	struct ibv_pd *pd = softverbs_ibv_alloc_pd(context);

	CHECK(pd && test_now_ms() - start >= 200);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
}

static const struct fault_case cases[] = {
	{"open_device:errno=ENODEV;alloc_pd:errno=EPERM;create_comp_channel:errno=EMFILE;"
	 "create_cq:errno=ENOSPC;create_qp:errno=ENOMEM", eachCreatingCallFailsOnce, NULL},
	{"modify_qp:errno=EIO,state=ERR", moveToOneStateFails, NULL},
	{"post_send:errno=ENOMEM,nth=3", postEndsAtOneRequest, NULL},
	{"post_recv:errno=ENOMEM,nth=2", receiveIsRefused, NULL},
	{"post_send:errno=EFAULT,opcode=WRITE,min_length=1000", filtersLetOthersPass, NULL},
	{"post_send:errno=EAGAIN,nth=2,every=3,count=3", everyThirdFails, NULL},
	{"seed=5;post_send:errno=EAGAIN,probability=250", drawsBySeed, NULL},
	{"post_send:errno=EAGAIN,probability=250;seed=5", drawsBySeed, NULL},
	{"seed=6;post_send:errno=EAGAIN,probability=250", drawsBySeed, NULL},
	{"alloc_pd:delay=200", callTakesLonger, NULL},
};

int main(int argc, char **argv)
{
	char drawn[64];
	int status;

	snprintf(drawn, sizeof(drawn), "/tmp/softdev-fault-drawn-%d", (int)getpid());
	setenv("FAULT_DRAWN", drawn, 0);
	status = RUN_FAULT_CASES(cases);
	unlink(drawn);
	return status;
}
