/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTVERBS_FAULT: each point fires at the event it names, as often as it says, and once over all processes if asked. */
#include "softdev_fixture.h"

static char once_path[128];

/* The setting is read when the library is loaded: this program again, told which case to run. */
static void run_with(const char *fault, int number)
{
	char setting[256], text[16];
	int status;
	pid_t pid;

	snprintf(setting, sizeof(setting), "%s%s", fault, strstr(fault, "once=") ? once_path : "");
	pid = fork();
	if (!pid) {
		setenv("SOFTVERBS_FAULT", setting, 1);
		alarm(TEST_SECONDS);
		snprintf(text, sizeof(text), "%d", number);
		execl("/proc/self/exe", "fault", text, (char *)NULL);
		_exit(127);
	}
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	CHECK_EQUAL(status, 0);
}

static int register_once(struct side *side)
{
	static char bytes[64];
	struct ibv_mr *mr = softverbs_ibv_reg_mr(side->pd, bytes, sizeof(bytes), 0);

	if (!mr)
		return errno;
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
	return 0;
}

static void registrationFails(void)
{
	struct side side;

	open_side(&side, 16, 16);
	CHECK_EQUAL(register_once(&side), 0);
	CHECK_EQUAL(register_once(&side), ENOMEM);
	CHECK_EQUAL(register_once(&side), ENOMEM);
	CHECK_EQUAL(register_once(&side), 0);
	close_side(&side);
}

struct scene {
	struct pair pair;
	struct region sink, source;
};

static void open_scene(struct scene *scene)
{
	open_pair(&scene->pair, NULL, NULL);
	scene->sink = create_region(scene->pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	scene->source = create_region(scene->pair.b.pd, 4096, ALL_REMOTE);
	memset(scene->source.bytes, 0x55, 4096);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->sink);
	destroy_region(&scene->source);
	close_pair(&scene->pair);
}

static int read_once(struct scene *scene, uint64_t wr_id)
{
	return post_read(scene->pair.a.qp, wr_id, &scene->sink, 8, (uintptr_t)scene->source.bytes,
			 scene->source.mr->rkey);
}

static void postFails(void)
{
	struct scene scene;

	open_scene(&scene);
	CHECK_EQUAL(read_once(&scene, 1), EAGAIN);
	CHECK_EQUAL(read_once(&scene, 2), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	close_scene(&scene);
}

static void readFails(void)
{
	struct scene scene;

	open_scene(&scene);
	CHECK_EQUAL(read_once(&scene, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(read_once(&scene, 2), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_REM_OP_ERR);
	expect_state(scene.pair.a.qp, IBV_QPS_ERR);
	close_scene(&scene);
}

static void oneBitIsWrong(void)
{
	struct scene scene;

	open_scene(&scene);
	CHECK_EQUAL(read_once(&scene, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene.sink.bytes[0], 0x54);
	CHECK_EQUAL(scene.sink.bytes[1], 0x55);
	CHECK_EQUAL(read_once(&scene, 2), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene.sink.bytes[0], 0x55);
	close_scene(&scene);
}

static void nothingFails(void)
{
	struct side side;

	open_side(&side, 16, 16);
	CHECK_EQUAL(register_once(&side), 0);
	close_side(&side);
}

static void firstRegistrationFails(void)
{
	struct side side;

	open_side(&side, 16, 16);
	CHECK_EQUAL(register_once(&side), EPERM);
	close_side(&side);
}

static const struct {
	const char *fault;
	void (*body)(void);
} cases[] = {
	{"reg_mr:errno=12,nth=2,count=2", registrationFails},
	{"post_send:errno=11;reg_mr:errno=1,nth=100", postFails},
	{"read:status=11,nth=2", readFails},
	{"read:flip=1", oneBitIsWrong},
	{"reg_mr:errno=1,once=", firstRegistrationFails},
	{"reg_mr:errno=1,once=", nothingFails},
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

int main(int argc, char **argv)
{
	if (argc == 2) {
		cases[atoi(argv[1])].body();
		return 0;
	}
	alarm(TEST_SECONDS);
	snprintf(once_path, sizeof(once_path), "/tmp/softdev-fault-once-%d", (int)getpid());
	for (int i = 0; i < CASES; i++)
		run_with(cases[i].fault, i);
	unlink(once_path);
	return 0;
}
