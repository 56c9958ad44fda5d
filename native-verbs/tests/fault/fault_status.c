/* SPDX-License-Identifier: Apache-2.0 */
/* Any status on any request of either side: it names the culprit, what is behind flushes, the peer sees no more of it. */
#include "fault_fixture.h"

enum { LAST_STATUS = IBV_WC_GENERAL_ERR };

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
} operations[] = {
	{"READ", IBV_WR_RDMA_READ},
	{"WRITE", IBV_WR_RDMA_WRITE},
	{"WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM},
	{"SEND", IBV_WR_SEND},
	{"SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* The environment names the request that fails, for the process has one device and one setting. */
static void requestEnds(void)
{
	int operation = atoi(getenv("FAULT_OPERATION")), status = atoi(getenv("FAULT_STATUS"));
	struct fault_scene scene;

	open_scene(&scene, NULL);
	memset(scene.sink.bytes, 0x11, SCENE_BYTES);
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(post_receive(scene.pair.b.qp, 100 + i, sge_of(&scene.source, 1024, 64)), 0);
	CHECK_EQUAL(scene_post(&scene, operations[operation].opcode, 1, 64), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene_post(&scene, operations[operation].opcode, 2, 64), 0);
	expect_completion(scene.pair.a.cq, 2, status);
	CHECK_EQUAL(scene_post(&scene, operations[operation].opcode, 3, 64), 0);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_WR_FLUSH_ERR);
	expect_state(scene.pair.a.qp, IBV_QPS_ERR);
	CHECK_EQUAL(state_of(scene.pair.b.qp), IBV_QPS_RTS);
	close_scene(&scene);
}

static void receiveEnds(void)
{
	int status = atoi(getenv("FAULT_STATUS"));
	struct fault_scene scene;

	open_scene(&scene, NULL);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(post_receive(scene.pair.b.qp, 100 + i, sge_of(&scene.source, 1024, 64)), 0);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_SEND, 1, 64), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 100, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_SEND, 2, 64), 0);
	expect_completion(scene.pair.b.cq, 101, status);
	expect_completion(scene.pair.b.cq, 102, IBV_WC_WR_FLUSH_ERR);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_REM_OP_ERR);
	expect_state(scene.pair.a.qp, IBV_QPS_ERR);
	expect_state(scene.pair.b.qp, IBV_QPS_ERR);
	close_scene(&scene);
}

static void set_number(const char *name, int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	setenv(name, text, 1);
}

int main(int argc, char **argv)
{
	static void (*const bodies[])(void) = {requestEnds, receiveEnds};
	char fault[128];

	alarm(TEST_SECONDS);
	if (argc == 2) {
		bodies[atoi(argv[1])]();
		return 0;
	}
	for (int status = 1; status <= LAST_STATUS; status++) {
		int operation = status % OPERATIONS;
		struct fault_case request = {fault, requestEnds, status % 2 ? "wire" : NULL};

		set_number("FAULT_STATUS", status);
		set_number("FAULT_OPERATION", operation);
		snprintf(fault, sizeof(fault), "wr:status=%d,opcode=%s,nth=2", status, operations[operation].name);
		run_fault_case(&request, 0);
		snprintf(fault, sizeof(fault), "recv:status=%d,nth=2", status);
		run_fault_case(&request, 1);
	}
	return 0;
}
