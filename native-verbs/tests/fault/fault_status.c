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

/* The one that this process is to see: it has one device and one setting. */
static int status;

static void requestEnds(struct pair *pair)
{
	enum ibv_wr_opcode opcode = operations[status % OPERATIONS].opcode;

	memset(pair->local->bytes, 0x11, FAULT_BYTES);
	for (int i = 0; i < 4; i++)
		pair_receive(pair, 100 + i, 64);
	pair_run(pair, opcode, 1, 64, IBV_WC_SUCCESS);
	pair_run(pair, opcode, 2, 64, status);
	pair_run(pair, opcode, 3, 64, IBV_WC_WR_FLUSH_ERR);
	expect_state(pair->a.qp, IBV_QPS_ERR);
	CHECK_EQUAL(state_of(pair->b.qp), IBV_QPS_RTS);
}

static void receiveEnds(struct pair *pair)
{
	for (int i = 0; i < 3; i++)
		pair_receive(pair, 100 + i, 64);
	pair_run(pair, IBV_WR_SEND, 1, 64, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 100, IBV_WC_SUCCESS);
	pair_post(pair, IBV_WR_SEND, 2, 64);
	expect_completion(pair->b.cq, 101, status);
	expect_completion(pair->b.cq, 102, IBV_WC_WR_FLUSH_ERR);
	expect_completion(pair->a.cq, 2, IBV_WC_REM_OP_ERR);
	expect_state(pair->a.qp, IBV_QPS_ERR);
	expect_state(pair->b.qp, IBV_QPS_ERR);
}

/* The number of a case has its status in the bits above the lowest, which tells a receive from a request. */
int main(int argc, char **argv)
{
	char fault[128];

	alarm(TEST_SECONDS);
	if (argc == 2) {
		int number = atoi(argv[1]);

		status = number / 2;
		run_fault_body(&(struct fault_case){.between = number % 2 ? receiveEnds : requestEnds});
		return 0;
	}
	for (int each = 1; each <= LAST_STATUS; each++) {
		struct fault_case one = {fault, .path = each % 2 ? "wire" : NULL};

		snprintf(fault, sizeof(fault), "wr:status=%d,opcode=%s,nth=2", each, operations[each % OPERATIONS].name);
		run_fault_case(&one, 2 * each);
		snprintf(fault, sizeof(fault), "recv:status=%d,nth=2", each);
		run_fault_case(&one, 2 * each + 1);
	}
	return 0;
}
