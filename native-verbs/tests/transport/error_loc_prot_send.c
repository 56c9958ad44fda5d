/* SPDX-License-Identifier: Apache-2.0 */
/* A list of the requester that its own regions do not cover: LOC_PROT_ERR, and the responder does not notice. */
#include "error_row.h"

static void rkey_in_place_of_lkey(struct error_run *run)
{
	run->list[0].lkey = run->pair.local->mr->rkey;
}

static void region_of_another_domain(struct error_run *run)
{
	run->list[0] = sge_of(run->pair.remote, 0, 8);
}

static void not_mapped(struct error_run *run)
{
	struct region *region = add_region(&run->pair.a, 4096, IBV_ACCESS_LOCAL_WRITE);

	CHECK(!mprotect(region->bytes, 4096, PROT_NONE));
	run->list[0] = sge_of(region, 0, 8);
}

static void without_local_write(struct error_run *run)
{
	run->list[0] = sge_of(add_region(&run->pair.a, ROW_BYTES, 0), 0, 8);
}

#define WRITE FAILS_ALONE(IBV_WC_LOC_PROT_ERR)
#define SEND .opcode = IBV_WR_SEND, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)
#define READ .opcode = IBV_WR_RDMA_READ, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)
/* Behind another READ, with which it may share a system call. */
#define SECOND_READ READ, .responder = {.access = ALL_REMOTE}

static const struct error_row rows[] = {
	{.name = "WRITE, wrong lkey", WRITE, .wrong_lkey = true},
	{.name = "READ, wrong lkey", READ, .wrong_lkey = true},
	{.name = "READ behind a READ, wrong lkey", SECOND_READ, .wrong_lkey = true},
	{.name = "WRITE, rkey in place of lkey", WRITE, .spoil = rkey_in_place_of_lkey},
	{.name = "READ, rkey in place of lkey", READ, .spoil = rkey_in_place_of_lkey},
	{.name = "WRITE, out of bounds", WRITE, .local_offset = ROW_BYTES - 7},
	{.name = "READ, out of bounds", READ, .local_offset = ROW_BYTES - 7},
	{.name = "READ behind a READ, out of bounds", SECOND_READ, .local_offset = ROW_BYTES - 7},
	{.name = "WRITE, region of another PD", WRITE, .spoil = region_of_another_domain},
	{.name = "READ, region of another PD", READ, .spoil = region_of_another_domain},
	{.name = "READ, sink without LOCAL_WRITE", READ, .spoil = without_local_write},
	{.name = "READ behind a READ, sink without LOCAL_WRITE", SECOND_READ, .spoil = without_local_write},
	{.name = "WRITE, memory not mapped", WRITE, .spoil = not_mapped},
	{.name = "SEND, memory not mapped", SEND, .spoil = not_mapped},
	{.name = "READ, memory not mapped", READ, .spoil = not_mapped},
	{.name = "READ behind a READ, memory not mapped", SECOND_READ, .spoil = not_mapped},
	{.status = IBV_WC_SUCCESS},
};
