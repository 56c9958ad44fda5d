/* SPDX-License-Identifier: Apache-2.0 */
/* ibv_rereg_mr: another place, domain or access for a region whose keys stay, and nothing changed by a call that fails. */
#include "softdev_fixture.h"

enum { BYTES = 65536 };

static int change(struct pair *pair, int flags, struct ibv_pd *pd, void *address, size_t length, int access)
{
	return softverbs_ibv_rereg_mr(pair->remote->mr, flags, pd, address, length, access);
}

static void read_from(struct pair *pair, const void *address, enum ibv_wc_status status)
{
	memset(pair->local->bytes, 0xee, 64);
	read_and_expect(&pair->a, 1, pair->local, 64, (uintptr_t)address, pair->remote->mr->rkey, status);
	if (status == IBV_WC_SUCCESS)
		CHECK(!memcmp(pair->local->bytes, address, 64));
}

PAIR_CASE(anotherPlace, .bytes = BYTES)
{
	uint32_t lkey = pair->remote->mr->lkey, rkey = pair->remote->mr->rkey;
	uint8_t *other;

	read_from(pair, pair->remote->bytes, IBV_WC_SUCCESS);
	other = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(other != MAP_FAILED);
	fill_pattern(other, 4096, 6);
	CHECK_EQUAL(change(pair, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, 4096, 0), 0);
	CHECK(pair->remote->mr->addr == other && pair->remote->mr->length == 4096);
	CHECK(pair->remote->mr->lkey == lkey && pair->remote->mr->rkey == rkey);
	read_from(pair, other, IBV_WC_SUCCESS);
	read_from(pair, other + 4096 - 64, IBV_WC_SUCCESS);
	read_from(pair, pair->remote->bytes, IBV_WC_REM_ACCESS_ERR);
	munmap(other, 4096);
}

PAIR_CASE(anotherDomain, .bytes = BYTES)
{
	struct ibv_pd *other = softverbs_ibv_alloc_pd(pair->b.context);

	CHECK(other);
	read_from(pair, pair->remote->bytes, IBV_WC_SUCCESS);
	CHECK_EQUAL(change(pair, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	CHECK(pair->remote->mr->pd == other);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(other), EBUSY);
	CHECK_EQUAL(change(pair, IBV_REREG_MR_CHANGE_PD, pair->b.pd, NULL, 0, 0), 0);
	read_from(pair, pair->remote->bytes, IBV_WC_SUCCESS);
	CHECK_EQUAL(change(pair, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	read_from(pair, pair->remote->bytes, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(pair->remote->mr), 0);
	pair->remote->mr = NULL;
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(other), 0);
}

PAIR_CASE(anotherAccess, .bytes = BYTES)
{
	const int access = IBV_REREG_MR_CHANGE_ACCESS;

	read_from(pair, pair->remote->bytes, IBV_WC_SUCCESS);
	CHECK_EQUAL(change(pair, access, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), 0);
	CHECK_EQUAL(change(pair, access, NULL, NULL, 0, ALL_REMOTE), 0);
	read_from(pair, pair->remote->bytes, IBV_WC_SUCCESS);
	CHECK_EQUAL(change(pair, access, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), 0);
	read_from(pair, pair->remote->bytes, IBV_WC_REM_ACCESS_ERR);
}

PAIR_CASE(whatFailsChangesNothing, .bytes = BYTES)
{
	const int translation = IBV_REREG_MR_CHANGE_TRANSLATION, access = IBV_REREG_MR_CHANGE_ACCESS;
	struct ibv_mw_bind bind = {.bind_info = {.length = BYTES, .mw_access_flags = IBV_ACCESS_REMOTE_READ}};
	struct ibv_context *other = open_device();
	struct ibv_pd *other_pd = softverbs_ibv_alloc_pd(other);
	struct ibv_mw *mw;

	CHECK(other_pd);
	CHECK_EQUAL(change(pair, 0x80, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(change(pair, translation, NULL, NULL, 4096, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(change(pair, translation, NULL, pair->remote->bytes, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(change(pair, translation, NULL, pair->remote->bytes, 64, ALL_REMOTE), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(change(pair, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(errno, EINVAL);
	CHECK_EQUAL(change(pair, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(errno, EINVAL);
	CHECK_EQUAL(change(pair, IBV_REREG_MR_CHANGE_PD, other_pd, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(errno, EINVAL);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(other_pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(other), 0);
	CHECK_EQUAL(change(pair, access, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(change(pair, translation, NULL, (void *)4096, 4096, 0), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(errno, EFAULT);
	read_from(pair, pair->remote->bytes, IBV_WC_SUCCESS);
	/* A window keeps its region as it is. */
	CHECK_EQUAL(change(pair, access, NULL, NULL, 0, ALL_REMOTE | IBV_ACCESS_MW_BIND), 0);
	mw = ibv_alloc_mw(pair->b.pd, IBV_MW_TYPE_1);
	CHECK(mw);
	bind.bind_info.mr = pair->remote->mr;
	bind.bind_info.addr = (uintptr_t)pair->remote->bytes;
	bind.send_flags = IBV_SEND_SIGNALED;
	CHECK_EQUAL(ibv_bind_mw(pair->b.qp, mw, &bind), 0);
	expect_completion(pair->b.cq, 0, IBV_WC_SUCCESS);
	CHECK_EQUAL(change(pair, access, NULL, NULL, 0, ALL_REMOTE), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(errno, EBUSY);
	CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
}

MAIN(on_each_path, run_cases)
