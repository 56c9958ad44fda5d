/* SPDX-License-Identifier: Apache-2.0 */
/* What takes a short cut away in the middle costs the short cut and nothing else: the READ goes another way. */
#include "fault_fixture.h"

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

static const struct fault_case cases[] = {
	{"cma:errno=EPERM,nth=3", cmaIsForbidden, "cma"},
	{"cma:errno=ENOSYS,nth=3", cmaIsForbidden, "cma"},
	{"cma:errno=EFAULT,nth=3", oneReadIsRefused, "cma"},
	{"file:errno=EIO,nth=3", oneReadIsRefused, "file"},
	{"share_file:errno=EMFILE", noDescriptorIsGiven, "file"},
};

int main(int argc, char **argv)
{
	return RUN_FAULT_CASES(cases);
}
