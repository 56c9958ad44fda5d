/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the requester that turns out to be gone while requests before it are under way: those complete, then it fails
 * with its cause, and the rest is flushed. Of a message that was sent by half nothing is received.
 */
#include "error_row.h"

enum { LARGE_BYTES = 4 << 20, HOLE_BYTES = 64 << 10 }; /* whole pages of any size */

/* A large region whose last pages are not there. */
static struct region *add_region_with_a_hole(struct error_run *run)
{
	struct region *region = add_region(&run->pair.a, LARGE_BYTES, IBV_ACCESS_LOCAL_WRITE);

	CHECK(!mprotect(region->bytes + LARGE_BYTES - HOLE_BYTES, HOLE_BYTES, PROT_NONE));
	return region;
}

static void send_the_hole(struct error_run *run)
{
	run->list[0] = sge_of(add_region_with_a_hole(run), LARGE_BYTES - 8, 8);
}

/* Its first megabytes are on their way when the rest is found missing. */
static void write_up_to_the_hole(struct error_run *run)
{
	struct region *sink = add_region(&run->pair.b, LARGE_BYTES, ALL_REMOTE);

	run->list[0] = sge_of(add_region_with_a_hole(run), 0, LARGE_BYTES);
	run->failing.wr.rdma.remote_addr = (uintptr_t)sink->bytes;
	run->failing.wr.rdma.rkey = sink->mr->rkey;
}

static const struct error_row rows[] = {
	{.name = "SEND of memory that is gone",
	 .opcode = IBV_WR_SEND, .spoil = send_the_hole, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "WRITE of memory whose end is gone",
	 .spoil = write_up_to_the_hole, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.status = IBV_WC_SUCCESS},
};
