/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket: rules come and go while the program runs, events are raised, links are cut and heal. */
#include "fault_fixture.h"

#include <stddef.h>
#include <sys/un.h>

static int control;

static int connect_control(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int used = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "softverbs-fault-%d", (int)getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(!connect(fd, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + used));
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

static void rulesComeAndGo(struct pair *pair)
{
	expect_good_read(pair, 1);
	expect_answer("list", "ok");
	expect_answer("set read:flip,offset=63;post_send:errno=EAGAIN,opcode=WRITE", "ok rules 1 to 2");
	pair_run(pair, IBV_WR_RDMA_READ, 2, 64, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair->local->bytes[63], UNTOUCHED ^ 1);
	CHECK_EQUAL(pair->local->bytes[62], UNTOUCHED);
	expect_answer("list", "1 read:flip,offset=63 seen=1 hits=1");
	expect_answer("list", "2 post_send:errno=EAGAIN,opcode=WRITE seen=0 hits=0");
	expect_answer("clear 1", "ok cleared 1");
	expect_answer("clear 1", "error clear 1: there is no such rule");
	expect_answer("clear", "ok cleared 1");
	expect_good_read(pair, 3);
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

/* Of the port or the device; each side has a context that is told. */
static void raise_on_both(struct side *side, const char *name, enum ibv_event_type type)
{
	struct ibv_async_event event;
	char command[64];

	snprintf(command, sizeof(command), "raise %s", name);
	expect_answer(command, "ok raised on 2");
	CHECK_EQUAL(softverbs_ibv_get_async_event(side->context, &event), 0);
	CHECK_EQUAL(event.event_type, type);
	CHECK(type == IBV_EVENT_DEVICE_FATAL || event.element.port_num == 1);
	softverbs_ibv_ack_async_event(&event);
}

static void eventsAreRaised(struct pair *pair)
{
	char command[64];

	raise_on_both(&pair->b, "PORT_ERR", IBV_EVENT_PORT_ERR);
	raise_on_both(&pair->b, "PORT_ACTIVE", IBV_EVENT_PORT_ACTIVE);
	raise_on_both(&pair->b, "GID_CHANGE", IBV_EVENT_GID_CHANGE);
	raise_on_both(&pair->b, "LID_CHANGE", IBV_EVENT_LID_CHANGE);
	raise_on_both(&pair->b, "PKEY_CHANGE", IBV_EVENT_PKEY_CHANGE);
	raise_on_both(&pair->b, "SM_CHANGE", IBV_EVENT_SM_CHANGE);
	raise_on_both(&pair->b, "CLIENT_REREGISTER", IBV_EVENT_CLIENT_REREGISTER);
	snprintf(command, sizeof(command), "raise PATH_MIG qp=%u", pair->b.qp->qp_num);
	expect_answer(command, "ok raised on 1");
	expect_async(&pair->b, IBV_EVENT_PATH_MIG);
	expect_good_read(pair, 1);
}

/* The milliseconds that a WRITE takes. */
static uint64_t write_takes(struct pair *pair, uint32_t length)
{
	uint64_t start = test_now_ms();

	pair_run(pair, IBV_WR_RDMA_WRITE, 2, length, IBV_WC_SUCCESS);
	return test_now_ms() - start;
}

static void linksAreSlowAndSilent(struct pair *pair)
{
	uint64_t start;

	expect_good_read(pair, 1);
	expect_answer("links slow delay=100", "ok links ");
	CHECK(write_takes(pair, 64) >= 190);
	expect_answer("links slow rate=100000", "ok links ");
	CHECK(write_takes(pair, 30000) >= 250);
	expect_answer("links heal", "ok links ");
	start = test_now_ms();
	for (int i = 0; i < 30; i++) /* nine seconds if it were still slow */
		write_takes(pair, 30000);
	CHECK(test_now_ms() - start < 2000 * TEST_SLOWER);

	expect_answer("links silence", "ok links ");
	pair_post(pair, IBV_WR_RDMA_WRITE, 5, 64);
	expect_silence(pair->a.cq, 300);
	expect_answer("links heal", "ok links ");
	expect_completion(pair->a.cq, 5, IBV_WC_SUCCESS);

	expect_answer("links silence", "ok links ");
	pair_run(pair, IBV_WR_RDMA_WRITE, 6, 64, IBV_WC_RETRY_EXC_ERR);
	expect_answer("links heal", "ok links ");
}

static void cutIsTheEndOfAConnection(void)
{
	struct pair pair;

	open_fault_pair(&pair, NULL);
	pair_run(&pair, IBV_WR_RDMA_WRITE, 1, 64, IBV_WC_SUCCESS);
	expect_answer("links refuse", "ok links ");
	expect_answer("links cut", "ok links ");
	pair_run(&pair, IBV_WR_RDMA_WRITE, 2, 64, IBV_WC_RETRY_EXC_ERR);
	expect_answer("links heal", "ok links ");
	close_pair(&pair);
	open_fault_pair(&pair, NULL);
	expect_good_read(&pair, 3);
	close_pair(&pair);
}

static void deviceDies(void)
{
	struct pair pair;

	open_fault_pair(&pair, NULL);
	CHECK_EQUAL(post_receive(pair.a.qp, 1, sge_of(pair.local, 0, 8)), 0);
	raise_on_both(&pair.a, "DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL);
	expect_completion(pair.a.cq, 1, IBV_WC_WR_FLUSH_ERR);
	close_pair(&pair);
}

int main(void)
{
	static const struct connection patient = {.timeout = 17, .retry_count = 3};
	struct pair pair;

	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_FAULT_CONTROL", "@softverbs-fault-%p", 1);
	open_fault_pair(&pair, &patient);
	control = connect_control();
	rulesComeAndGo(&pair);
	mistakesAreNamed();
	eventsAreRaised(&pair);
	linksAreSlowAndSilent(&pair);
	close_pair(&pair);
	cutIsTheEndOfAConnection();
	deviceDies();
	close(control);
}
