/* SPDX-License-Identifier: Apache-2.0 */
/* A registered file that becomes shorter, or memory that is unmapped: the READ is refused and nobody dies of SIGBUS. */
#include "softdev_fixture.h"

enum { BYTES = 1 << 20 };

static struct region map_file(struct ibv_pd *pd, int access)
{
	struct region region = {.length = BYTES};
	FILE *file = tmpfile();

	region.fd = dup(fileno(file));
	fclose(file);
	CHECK(!ftruncate(region.fd, BYTES));
	region.bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0);
	CHECK(region.bytes != MAP_FAILED);
	region.mr = register_file(pd, region.bytes, BYTES, region.fd, access);
	CHECK(region.mr);
	return region;
}

CASE(truncatedSourceIsRefused)
{
	struct region sink, source;
	struct pair pair;

	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	source = map_file(pair.b.pd, ALL_REMOTE);
	CHECK(!ftruncate(source.fd, 8192));
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, 8192, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(post_read(pair.a.qp, 2, &sink, BYTES, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 2, IBV_WC_REM_OP_ERR);
	expect_state(pair.b.qp, IBV_QPS_ERR);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

CASE(truncatedSinkIsALocalError)
{
	struct region sink, source;
	struct pair pair;

	open_pair(&pair, NULL, NULL);
	sink = map_file(pair.a.pd, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, BYTES, ALL_REMOTE);
	CHECK(!ftruncate(sink.fd, 8192));
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, BYTES, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_LOC_PROT_ERR);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

CASE(unmappedSourceIsRefused)
{
	struct region sink, source;
	struct pair pair;

	if (test_path_is("file"))
		return; /* there the file goes on serving */
	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, BYTES, ALL_REMOTE);
	CHECK(!mprotect(source.bytes, BYTES, PROT_NONE));
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, BYTES, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_REM_OP_ERR);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

int main(void)
{
	on_each_path(run_cases);
}
