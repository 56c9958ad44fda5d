/* SPDX-License-Identifier: Apache-2.0 */
/* A registered file that becomes shorter, or memory that is unmapped: the READ is refused and nobody dies of SIGBUS. */
#include "softdev_fixture.h"

enum { BYTES = 1 << 20 };

static void expect_read_of(struct pair *pair, const struct region *sink, const struct region *source, uint32_t length,
			   enum ibv_wc_status status)
{
	read_and_expect(&pair->a, 1, sink, length, (uintptr_t)source->bytes, source->mr->rkey, status);
}

PAIR_CASE(truncatedSourceIsRefused, .bytes = BYTES)
{
	struct region *source = keep_region(&pair->b, create_file_region(pair->b.pd, BYTES, ALL_REMOTE));

	CHECK(!ftruncate(source->fd, 8192));
	expect_read_of(pair, pair->local, source, 8192, IBV_WC_SUCCESS);
	expect_read_of(pair, pair->local, source, BYTES, IBV_WC_REM_OP_ERR);
	expect_state(pair->b.qp, IBV_QPS_ERR);
}

PAIR_CASE(truncatedSinkIsALocalError, .bytes = BYTES)
{
	struct region *sink = keep_region(&pair->a, create_file_region(pair->a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE));

	CHECK(!ftruncate(sink->fd, 8192));
	expect_read_of(pair, sink, pair->remote, BYTES, IBV_WC_LOC_PROT_ERR);
}

PAIR_CASE(unmappedSourceIsRefused, .bytes = BYTES)
{
	if (test_path_is("file"))
		return; /* there the file goes on serving */
	CHECK(!mprotect(pair->remote->bytes, BYTES, PROT_NONE));
	pair_run(pair, IBV_WR_RDMA_READ, 1, BYTES, IBV_WC_REM_OP_ERR);
}

MAIN(on_each_path, run_cases)
