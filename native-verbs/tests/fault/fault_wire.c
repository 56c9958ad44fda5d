/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are lost, late, damaged or cut off, links that end, fall silent or cannot be made; over the wire, within a host and by TCP. */
#include "fault_fixture.h"

#define PATIENT .how = {.timeout = 10, .retry_count = 1}

/* It succeeds, in no less than this time; that is how long it took. */
static void expect_slow(struct pair *pair, enum ibv_wr_opcode opcode, uint32_t length, uint64_t least_ms)
{
	uint64_t start = test_now_ms();

	pair_run(pair, opcode, 1, length, IBV_WC_SUCCESS);
	CHECK(test_now_ms() - start >= least_ms);
}

static void aLostAnswerEndsInRetries(struct pair *pair)
{
	pair_run(pair, IBV_WR_RDMA_WRITE, 1, 64, IBV_WC_SUCCESS);
	pair_run(pair, IBV_WR_RDMA_WRITE, 2, 64, IBV_WC_RETRY_EXC_ERR);
}

static void aWriteIsDamagedOnItsWay(struct pair *pair)
{
	memset(pair->local->bytes, 0x10, FAULT_BYTES);
	pair_run(pair, IBV_WR_RDMA_WRITE, 1, 40000, IBV_WC_SUCCESS);
	for (int i = 0; i < 40000; i++)
		CHECK_EQUAL(pair->remote->bytes[i], i == 33333 ? 0x11 : 0x10);
}

static void readDataIsDamaged(struct pair *pair)
{
	expect_good_read(pair, 1);
	pair_run(pair, IBV_WR_RDMA_READ, 2, 64, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair->local->bytes[7], UNTOUCHED ^ 1);
}

static void aReadEndsInRetries(struct pair *pair)
{
	pair_run(pair, IBV_WR_RDMA_READ, 1, 64, IBV_WC_RETRY_EXC_ERR);
	expect_state(pair->a.qp, IBV_QPS_ERR);
}

static void anAnswerIsLate(struct pair *pair)
{
	expect_slow(pair, IBV_WR_RDMA_WRITE, 64, 290);
}

/* The first attempts are refused; the retries find the peer. */
static void thePeerIsThereLater(struct pair *pair)
{
	expect_good_read(pair, 1);
}

static void aSlowLinkTakesItsTime(struct pair *pair)
{
	expect_slow(pair, IBV_WR_RDMA_READ, 50000, 240);
	CHECK_EQUAL(pair->local->bytes[49999], UNTOUCHED);
}

static void receiverIsNotReady(struct pair *pair)
{
	pair_receive(pair, 5, 64);
	pair_run(pair, IBV_WR_SEND, 1, 64, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 5, IBV_WC_SUCCESS);
}

static void receiverIsNeverReady(struct pair *pair)
{
	pair_receive(pair, 5, 64);
	pair_run(pair, IBV_WR_SEND, 1, 64, IBV_WC_RNR_RETRY_EXC_ERR);
}

static const struct fault_case cases[] = {
	{"frame:op=ACK,drop,nth=2", .between = aLostAnswerEndsInRetries, .path = "wire", PATIENT},
	{"frame:op=WRITE,flip,offset=33333", .between = aWriteIsDamagedOnItsWay, .path = "wire"},
	{"frame:op=READ_DATA,flip,offset=7,nth=2", .between = readDataIsDamaged, .path = "wire"},
	{"frame:op=READ_DATA,truncate=10", .between = aReadEndsInRetries, .path = "wire"},
	{"frame:op=READ,cut", .between = aReadEndsInRetries, .path = "wire"},
	{"frame:op=READ,silence", .between = aReadEndsInRetries, .path = "wire", PATIENT},
	{"frame:op=ACK,delay=300", .between = anAnswerIsLate, .path = "wire"},
	{"link:kind=QP,refuse,count=all", .between = aReadEndsInRetries, .path = "wire", PATIENT},
	{"link:kind=QP,refuse,count=3", .between = thePeerIsThereLater, .path = "wire"},
	{"link:kind=QP,rate=200000,count=all", .between = aSlowLinkTakesItsTime, .path = "wire"},
	{"frame:op=WRITE,flip,offset=33333", .between = aWriteIsDamagedOnItsWay, .path = "tcp"},
	{"frame:op=READ_DATA,truncate=10", .between = aReadEndsInRetries, .path = "tcp"},
	{"link:kind=QP,silence,count=all", .between = aReadEndsInRetries, .path = "tcp", PATIENT},
	{"link:kind=QP,rate=200000,count=all", .between = aSlowLinkTakesItsTime, .path = "tcp"},
	{"recv:rnr,count=2", .between = receiverIsNotReady},
	{"recv:rnr,count=all", .between = receiverIsNeverReady, .how = {.no_rnr_retry = true}},
};

int main(int argc, char **argv)
{
	setenv("SOFTVERBS_SECRET", "the secret of this test", 1); /* for TCP */
	return RUN_FAULT_CASES(cases);
}
