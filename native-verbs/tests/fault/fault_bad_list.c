/* SPDX-License-Identifier: Apache-2.0 */
/* With faults set a bad request is refused as without them: its list is not read before it has been looked at. */
#include "softdev_fixture.h"

static void post_bad_lists(void)
{
	struct ibv_send_wr no_list = {.opcode = IBV_WR_SEND, .num_sge = 1};
	struct ibv_send_wr negative = {.opcode = IBV_WR_SEND, .num_sge = -1};
	struct ibv_send_wr listless = {.opcode = IBV_WR_LOCAL_INV, .num_sge = 1};
	struct ibv_send_wr *bad;
	struct pair pair;

	open_pair(&pair, NULL, NULL);
	CHECK_EQUAL(ibv_post_send(pair.a.qp, &no_list, &bad), EINVAL);
	CHECK_EQUAL(ibv_post_send(pair.a.qp, &negative, &bad), EINVAL);
	CHECK_EQUAL(ibv_post_send(pair.a.qp, &listless, &bad), 0); /* which has no list at all */
	expect_completion(pair.a.cq, 0, IBV_WC_MW_BIND_ERR);
	close_pair(&pair);
}

int main(int argc, char **argv)
{
	(void)argv;
	alarm(TEST_SECONDS);
	if (argc == 1) {
		setenv("SOFTVERBS_FAULT", "post_send:errno=11,nth=1000", 1);
		execl("/proc/self/exe", "fault_bad_list", "again", (char *)NULL);
		return 1;
	}
	post_bad_lists();
	return 0;
}
