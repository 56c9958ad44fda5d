/* SPDX-License-Identifier: Apache-2.0 */
/* What takes a short cut away in the middle costs the short cut and nothing else: the READ goes another way. */
#include "fault_fixture.h"

#include <pthread.h>

static uint64_t by_wire(void)
{
	struct softverbs_counters counters;

	CHECK_EQUAL(softverbs_get_counters(&counters, sizeof(counters)), 0);
	return counters.reads_wire;
}

/* The third of four READs meets the refusal. */
static void readsGoOn(uint64_t expected_by_wire)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	for (int i = 1; i <= 4; i++)
		expect_good_read(&scene, i);
	CHECK_EQUAL(by_wire(), expected_by_wire);
	close_scene(&scene);
}

/* The kernel said no: it is not asked again. */
static void cmaIsForbidden(void)
{
	readsGoOn(2);
}

static void oneReadIsRefused(void)
{
	readsGoOn(1);
}

static void noDescriptorIsGiven(void)
{
	readsGoOn(4);
}

static void *post_second_read(void *scene)
{
	CHECK_EQUAL(scene_read(scene, 2), 0);
	return NULL;
}

/* The region goes between the copy and the checks after it: the READ has not succeeded. */
static void theRegionGoesMeanwhile(void)
{
	struct fault_scene scene;
	pthread_t thread;
	uint64_t start;

	open_scene(&scene, NULL);
	expect_good_read(&scene, 1);
	CHECK(!pthread_create(&thread, NULL, post_second_read, &scene));
	test_sleep_ms(100);
	start = test_now_ms();
	CHECK_EQUAL(softverbs_ibv_dereg_mr(scene.source.mr), 0);
	CHECK(test_now_ms() - start < 700);
	scene.source.mr = NULL;
	expect_completion(scene.pair.a.cq, 2, IBV_WC_REM_ACCESS_ERR);
	CHECK(!pthread_join(thread, NULL));
	close_scene(&scene);
}

static const struct fault_case cases[] = {
	{"cma:errno=EPERM,nth=3", cmaIsForbidden, "cma"},
	{"cma:errno=ENOSYS,nth=3", cmaIsForbidden, "cma"},
	{"cma:errno=EFAULT,nth=3", oneReadIsRefused, "cma"},
	{"file:errno=EIO,nth=3", oneReadIsRefused, "file"},
	{"cma:delay=1000,nth=2", theRegionGoesMeanwhile, "cma"},
	{"file:delay=1000,nth=2", theRegionGoesMeanwhile, "file"},
	{"share_file:errno=EMFILE", noDescriptorIsGiven, "file"},
};

int main(int argc, char **argv)
{
	return RUN_FAULT_CASES(cases);
}
