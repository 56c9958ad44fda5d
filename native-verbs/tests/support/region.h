/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is registered, as the path of READs that is tested wants it. */
#ifndef SHUFFLE_RDMA_TEST_REGION_H
#define SHUFFLE_RDMA_TEST_REGION_H

#include "exports.h"
#include "paths.h"
#include "softverbs.h"

#include <sys/mman.h>

/* A region; on the path "file" one that maps a file and was registered with it. */
struct region {
	uint8_t *bytes;
	size_t length;
	int fd;
	struct ibv_mr *mr;
};

static inline void fill_pattern(uint8_t *bytes, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = seed >> 24;
	}
}

/* Memory that maps a file from its start; only the software device wants to know which. */
static inline struct ibv_mr *register_file(struct ibv_pd *pd, void *bytes, size_t length, int fd, int access)
{
	if (test_device())
		return softverbs_ibv_reg_mr(pd, bytes, length, access);
	return softverbs_reg_file_mr(pd, bytes, length, fd, 0, access);
}

/* A region that maps a file, on every path. */
static inline struct region create_file_region(struct ibv_pd *pd, size_t length, int access)
{
	char name[] = "/tmp/softdev-test-XXXXXX";
	struct region region = {.length = length, .fd = mkstemp(name)};

	CHECK(region.fd >= 0);
	unlink(name);
	CHECK(!ftruncate(region.fd, length));
	region.bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0);
	CHECK(region.bytes != MAP_FAILED);
	region.mr = register_file(pd, region.bytes, length, region.fd, access);
	CHECK(region.mr);
	return region;
}

static inline struct region create_region(struct ibv_pd *pd, size_t length, int access)
{
	struct region region = {.length = length, .fd = -1};

	if (test_path_is("file"))
		return create_file_region(pd, length, access);
	region.bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(region.bytes != MAP_FAILED);
	region.mr = softverbs_ibv_reg_mr(pd, region.bytes, length, access);
	CHECK(region.mr);
	return region;
}

static inline void destroy_region(struct region *region)
{
	if (region->mr)
		CHECK_EQUAL(softverbs_ibv_dereg_mr(region->mr), 0);
	CHECK(!munmap(region->bytes, region->length));
	if (region->fd >= 0)
		close(region->fd);
}

static inline struct ibv_sge sge_of(const struct region *region, uint64_t offset, uint32_t length)
{
	return (struct ibv_sge){(uintptr_t)region->bytes + offset, length, region->mr->lkey};
}

#endif
