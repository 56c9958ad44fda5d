/* SPDX-License-Identifier: Apache-2.0 */
/* What ibv_reg_mr accepts, refuses and answers, and what a region keeps alive. */
#include "softdev_fixture.h"

#include <sys/resource.h>

static void expect_refused(struct ibv_pd *pd, void *address, size_t length, int access, int error)
{
	CHECK_REFUSED(softverbs_ibv_reg_mr(pd, address, length, access), error);
}

/* The call has made a region of that length, which goes again. */
static void expect_registered(struct ibv_mr *mr, size_t length)
{
	CHECK(mr && mr->length == length);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
}

static void argumentsAreChecked(struct ibv_pd *pd)
{
	static char bytes[64];
	const size_t page = sysconf(_SC_PAGESIZE);
	void *hole = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t iova = (uintptr_t)bytes;

	expect_refused(pd, bytes, sizeof(bytes), IBV_ACCESS_REMOTE_WRITE, EINVAL);
	expect_refused(pd, bytes, sizeof(bytes), IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
	expect_refused(pd, bytes, sizeof(bytes), 1 << 15, EINVAL);
	expect_refused(pd, (void *)~(uintptr_t)100, 4096, 0, EINVAL);
	/* An address for the peers has the same place in its page. */
	CHECK_REFUSED(softverbs_ibv_reg_mr_iova2(pd, bytes, sizeof(bytes), iova + 64, 0), EINVAL);
	expect_registered(softverbs_ibv_reg_mr_iova2(pd, bytes, sizeof(bytes), iova + (1 << 20), 0), sizeof(bytes));
	CHECK(!munmap((char *)hole + page, page));
	expect_refused(pd, hole, 2 * page, 0, EFAULT);
	CHECK(!munmap(hole, page));
}

static void keysAreDistinct(struct ibv_pd *pd)
{
	struct ibv_mr *regions[100];
	static char bytes[64];

	for (int i = 0; i < 100; i++) {
		regions[i] = softverbs_ibv_reg_mr(pd, bytes, sizeof(bytes), ALL_REMOTE);
		CHECK(regions[i]);
		CHECK(regions[i]->lkey != regions[i]->rkey);
		CHECK(regions[i]->addr == bytes && regions[i]->length == sizeof(bytes));
		for (int j = 0; j < i; j++)
			CHECK(regions[i]->lkey != regions[j]->lkey && regions[i]->rkey != regions[j]->rkey);
	}
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), EBUSY);
	for (int i = 0; i < 100; i++)
		CHECK_EQUAL(softverbs_ibv_dereg_mr(regions[i]), 0);
}

/* Anything may be registered of which nothing can be reached. */
static void regionMayBeEmpty(struct ibv_pd *pd)
{
	expect_registered(softverbs_ibv_reg_mr(pd, NULL, 0, ALL_REMOTE), 0);
}

static void domainWithChildrenStays(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct ibv_context *other = open_device();
	struct ibv_ah *ah;

	CHECK_EQUAL(softverbs_ibv_query_gid(context, 1, 0, &attr.grh.dgid), 0);
	ah = softverbs_ibv_create_ah(pd, &attr);
	CHECK(ah);
	errno = 0;
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQUAL(errno, EBUSY);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	/* Of another context it is no domain. */
	pd->context = other;
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), ENOENT);
	pd->context = context;
	CHECK_EQUAL(softverbs_ibv_close_device(other), 0);
}

static void staleRegionIsRefused(struct ibv_pd *pd)
{
	static char bytes[64];
	struct ibv_mr *mr = softverbs_ibv_reg_mr(pd, bytes, sizeof(bytes), 0);
	uint32_t handle = mr->handle;

	mr->handle = 0xdead;
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), ENOENT);
	mr->handle = 0;
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), ENOENT);
	mr->handle = handle;
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
}

static void aSinkMustBeWritable(struct ibv_pd *pd)
{
	long page = sysconf(_SC_PAGESIZE);
	char *bytes = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(bytes != MAP_FAILED);
	memset(bytes, 0x5a, 3 * page);
	CHECK(!mprotect(bytes + 2 * page, page, PROT_READ));
	expect_refused(pd, bytes + 2 * page + 1, 1, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	expect_refused(pd, bytes + page, page + 1, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	expect_registered(softverbs_ibv_reg_mr(pd, bytes + page, 2 * page, IBV_ACCESS_REMOTE_READ), 2 * page);
	expect_registered(softverbs_ibv_reg_mr(pd, bytes + 1, 2 * page - 1, IBV_ACCESS_LOCAL_WRITE), 2 * page - 1);
	for (long i = 0; i < 3 * page; i++)
		CHECK_EQUAL(bytes[i], 0x5a);
	CHECK(!munmap(bytes, 3 * page));
}

static void fileRegionNeedsARegularFileOfThatSize(struct ibv_pd *pd)
{
	static char bytes[4096];
	int pipes[2];
	FILE *file = tmpfile();

	CHECK(!pipe(pipes));
	CHECK_REFUSED(softverbs_reg_file_mr(pd, bytes, sizeof(bytes), pipes[0], 0, 0), EINVAL);
	CHECK_REFUSED(softverbs_reg_file_mr(pd, bytes, sizeof(bytes), fileno(file), 0, 0), EINVAL);
	CHECK_REFUSED(softverbs_reg_file_mr(pd, bytes, sizeof(bytes), -1, 0, 0), EBADF);
	fclose(file);
	close(pipes[0]);
	close(pipes[1]);
}

static void lockedMemoryLimitIsEnforcedOnRequest(struct ibv_pd *pd)
{
	struct rlimit limit = {8192, 8192};
	static char bytes[16384];
	struct ibv_mr *mr;

	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	expect_registered(softverbs_ibv_reg_mr(pd, bytes, sizeof(bytes), 0), sizeof(bytes));
	setenv("SOFTVERBS_MEMLOCK", "enforce", 1);
	expect_refused(pd, bytes, sizeof(bytes), 0, ENOMEM);
	mr = softverbs_ibv_reg_mr(pd, bytes, 8192, 0);
	CHECK(mr);
	expect_refused(pd, bytes, 1, 0, ENOMEM);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
	unsetenv("SOFTVERBS_MEMLOCK");
}

int main(void)
{
	struct ibv_context *context;
	struct ibv_pd *pd;

	alarm(TEST_SECONDS);
	context = open_device();
	pd = softverbs_ibv_alloc_pd(context);
	argumentsAreChecked(pd);
	keysAreDistinct(pd);
	regionMayBeEmpty(pd);
	domainWithChildrenStays(context, pd);
	staleRegionIsRefused(pd);
	aSinkMustBeWritable(pd);
	fileRegionNeedsARegularFileOfThatSize(pd);
	lockedMemoryLimitIsEnforcedOnRequest(pd);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
	check_no_leaks();
}
