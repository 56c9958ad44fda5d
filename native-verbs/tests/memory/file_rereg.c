/* SPDX-License-Identifier: Apache-2.0 */
/* A file region that gets other rights: the peer closes the descriptor it had, also if it never reads there again. */
#include "descriptors.h"
#include "softdev_fixture.h"

enum { BYTES = 65536 };

int main(void)
{
	struct stat file;
	struct pair pair;
	int before, one;

	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_PATH", "file", 1);
	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	CHECK(!fstat(pair.remote->fd, &file));
	before = descriptors_of(&file, &one);
	pair_run(&pair, IBV_WR_RDMA_READ, 1, BYTES, IBV_WC_SUCCESS);
	CHECK_EQUAL(descriptors_of(&file, &one), before + 1);
	CHECK_EQUAL(softverbs_ibv_rereg_mr(pair.remote->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					   IBV_ACCESS_REMOTE_READ),
		    0);
	AWAIT(descriptors_of(&file, &one) == before);
	pair_run(&pair, IBV_WR_RDMA_READ, 2, BYTES, IBV_WC_SUCCESS);
	CHECK_EQUAL(descriptors_of(&file, &one), before + 1);
	close_pair(&pair);
}
