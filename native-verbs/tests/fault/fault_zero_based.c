/* SPDX-License-Identifier: Apache-2.0 */
/* A fault in the bytes of a READ strikes the region, also one whose addresses begin at 0. */
#include "softdev_fixture.h"

enum { BYTES = 64 };

static void body(void)
{
	static uint8_t sink[BYTES], source[BYTES];
	struct ibv_mr *to, *from;
	struct ibv_sge sge = {.addr = 8, .length = 8};
	struct ibv_send_wr *bad, wr = {
					 .opcode = IBV_WR_RDMA_READ,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .send_flags = IBV_SEND_SIGNALED,
				 };
	struct pair pair;

	memset(source, 0x55, sizeof(source));
	open_pair(&pair, NULL, NULL);
	to = softverbs_ibv_reg_mr(pair.a.pd, sink, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
	from = softverbs_ibv_reg_mr(pair.b.pd, source, BYTES, ALL_REMOTE);
	CHECK(to && from);
	sge.lkey = to->lkey;
	wr.wr.rdma.remote_addr = (uintptr_t)source;
	wr.wr.rdma.rkey = from->rkey;
	CHECK_EQUAL(ibv_post_send(pair.a.qp, &wr, &bad), 0);
	expect_completion(pair.a.cq, 0, IBV_WC_SUCCESS);
	CHECK_EQUAL(sink[7], 0);
	CHECK_EQUAL(sink[8], 0x55);
	CHECK_EQUAL(sink[9], 0x54);
	CHECK_EQUAL(sink[15], 0x55);
	CHECK_EQUAL(sink[16], 0);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(to), 0);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(from), 0);
	close_pair(&pair);
}

int main(int argc, char **argv)
{
	(void)argv;
	alarm(TEST_SECONDS);
	if (argc == 1) {
		setenv("SOFTVERBS_FAULT", "read:flip=1,offset=1", 1);
		execl("/proc/self/exe", "fault_zero_based", "again", (char *)NULL);
		return 1;
	}
	body();
	return 0;
}
