/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket: rules come and go while the program runs, events are raised, links are cut and heal. */
#include "fault_fixture.h"

#include <stddef.h>
#include <sys/un.h>

static int control;

static int connect_control(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int used = snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);

	if (*name == '@')
		address.sun_path[0] = 0;
	CHECK(!connect(fd, (struct sockaddr *)&address,
		       offsetof(struct sockaddr_un, sun_path) + used + (*name != '@')));
	return fd;
}

/* One command, one line as the answer. */
static const char *ask(const char *command)
{
	static char answer[8192];
	char line[512];
	size_t used = 0;
	int length = snprintf(line, sizeof(line), "%s\n", command);

	CHECK_EQUAL(write(control, line, length), length);
	do {
		ssize_t got;

		CHECK(test_readable(control, WAIT_MS));
		got = read(control, answer + used, sizeof(answer) - 1 - used);
		CHECK(got > 0);
		used += got;
	} while (answer[used - 1] != '\n');
	answer[used - 1] = 0;
	CHECK(!strchr(answer, '\n'));
	return answer;
}

static void expect_answer(const char *command, const char *expected)
{
	const char *answer = ask(command);

	if (!strstr(answer, expected)) {
		fprintf(stderr, "%s: '%s' has no '%s'\n", command, answer, expected);
		CHECK(strstr(answer, expected));
	}
}

static void rulesComeAndGo(struct fault_scene *scene)
{
	expect_good_read(scene, 1);
	expect_answer("list", "ok");
	expect_answer("set read:flip,offset=63;post_send:errno=EAGAIN,opcode=WRITE", "ok rules 1 to 2");
	CHECK_EQUAL(scene_read(scene, 2), 0);
	expect_completion(scene->pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene->sink.bytes[63], 0x54);
	CHECK_EQUAL(scene->sink.bytes[62], 0x55);
	expect_answer("list", "1 read:flip,offset=63 seen=1 hits=1");
	expect_answer("list", "2 post_send:errno=EAGAIN,opcode=WRITE seen=0 hits=0");
	expect_answer("clear 1", "ok cleared 1");
	expect_answer("clear 1", "error clear 1: there is no such rule");
	expect_answer("clear", "ok cleared 1");
	expect_good_read(scene, 3);
}

static void mistakesAreNamed(void)
{
	expect_answer("set reed:flip", "error there is no point reed: use open_device, ");
	expect_answer("set read:flipp", "error read has no key flipp: use status, ");
	expect_answer("set read:status=REM_ACCES", "error status=REM_ACCES: use 1 to 23, or one of LOC_LEN_ERR, ");
	expect_answer("set read:nth=0,flip", "error nth=0: use a number from 1 to ");
	expect_answer("set read:nth=2", "error read is to do nothing: use status, ");
	expect_answer("set read:flip;seed=x", "error seed=x: use a number");
	expect_answer("raise FIRE", "error event=FIRE: use ");
	expect_answer("links slow", "error links slow: use rate=");
	expect_answer("links cut quickly", "error quickly: use qp=N");
	expect_answer("dance", "error there is no command dance: set RULES | ");
	expect_answer("list", "ok");
}

static void eventsAreRaised(struct fault_scene *scene)
{
	static const char *const of_port[] = {"PORT_ERR", "PORT_ACTIVE", "GID_CHANGE", "LID_CHANGE", "PKEY_CHANGE",
					      "SM_CHANGE", "CLIENT_REREGISTER"};
	static const enum ibv_event_type types[] = {
		IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_GID_CHANGE, IBV_EVENT_LID_CHANGE,
		IBV_EVENT_PKEY_CHANGE, IBV_EVENT_SM_CHANGE, IBV_EVENT_CLIENT_REREGISTER};
	struct ibv_async_event event;
	char command[64];

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		snprintf(command, sizeof(command), "raise %s", of_port[i]);
		expect_answer(command, "ok raised on 2"); /* each side has a context */
		CHECK_EQUAL(softverbs_ibv_get_async_event(scene->pair.b.context, &event), 0);
		CHECK_EQUAL(event.event_type, types[i]);
		CHECK_EQUAL(event.element.port_num, 1);
		softverbs_ibv_ack_async_event(&event);
	}
	snprintf(command, sizeof(command), "raise PATH_MIG qp=%u", scene->pair.b.qp->qp_num);
	expect_answer(command, "ok raised on 1");
	expect_async(&scene->pair.b, IBV_EVENT_PATH_MIG);
	expect_good_read(scene, 1);
}

static void linksAreCutSilentAndSlow(struct fault_scene *scene)
{
	uint64_t start = test_now_ms();

	expect_good_read(scene, 1);
	expect_answer("links slow delay=100", "ok links ");
	CHECK_EQUAL(scene_post(scene, IBV_WR_RDMA_WRITE, 2, 64), 0);
	expect_completion(scene->pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK(test_now_ms() - start >= 190);
	expect_answer("links slow rate=100000", "ok links ");
	start = test_now_ms();
	CHECK_EQUAL(scene_post(scene, IBV_WR_RDMA_WRITE, 3, 30000), 0);
	expect_completion(scene->pair.a.cq, 3, IBV_WC_SUCCESS);
	CHECK(test_now_ms() - start >= 250);
	expect_answer("links heal", "ok links ");
	start = test_now_ms();
	for (int i = 0; i < 10; i++) { /* three seconds if it were still slow */
		CHECK_EQUAL(scene_post(scene, IBV_WR_RDMA_WRITE, 4, 30000), 0);
		expect_completion(scene->pair.a.cq, 4, IBV_WC_SUCCESS);
	}
	CHECK(test_now_ms() - start < 2000);

	expect_answer("links silence", "ok links ");
	CHECK_EQUAL(scene_post(scene, IBV_WR_RDMA_WRITE, 5, 64), 0);
	test_sleep_ms(300);
	expect_no_completion(scene->pair.a.cq);
	expect_answer("links heal", "ok links ");
	expect_completion(scene->pair.a.cq, 5, IBV_WC_SUCCESS);

	expect_answer("links silence", "ok links ");
	CHECK_EQUAL(scene_post(scene, IBV_WR_RDMA_WRITE, 6, 64), 0);
	expect_completion(scene->pair.a.cq, 6, IBV_WC_RETRY_EXC_ERR);
	expect_answer("links heal", "ok links ");
}

static void cutIsTheEndOfAConnection(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_WRITE, 1, 64), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	expect_answer("links refuse", "ok links ");
	expect_answer("links cut", "ok links ");
	CHECK_EQUAL(scene_post(&scene, IBV_WR_RDMA_WRITE, 2, 64), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_RETRY_EXC_ERR);
	expect_answer("links heal", "ok links ");
	close_scene(&scene);
	open_scene(&scene, NULL);
	expect_good_read(&scene, 3);
	close_scene(&scene);
}

static void deviceDies(void)
{
	struct ibv_async_event event;
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(post_receive(scene.pair.a.qp, 1, sge_of(&scene.sink, 0, 8)), 0);
	expect_answer("raise DEVICE_FATAL", "ok raised on 2");
	CHECK_EQUAL(softverbs_ibv_get_async_event(scene.pair.a.context, &event), 0);
	CHECK_EQUAL(event.event_type, IBV_EVENT_DEVICE_FATAL);
	softverbs_ibv_ack_async_event(&event);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_WR_FLUSH_ERR);
	close_scene(&scene);
}

int main(void)
{
	static const struct connection patient = {.timeout = 17, .retry_count = 3};
	struct fault_scene scene;
	char name[64];

	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_FAULT_CONTROL", "@softverbs-fault-%p", 1);
	open_scene(&scene, &patient);
	snprintf(name, sizeof(name), "@softverbs-fault-%d", (int)getpid());
	control = connect_control(name);
	rulesComeAndGo(&scene);
	mistakesAreNamed();
	eventsAreRaised(&scene);
	linksAreCutSilentAndSlow(&scene);
	close_scene(&scene);
	cutIsTheEndOfAConnection();
	deviceDies();
	close(control);
}
