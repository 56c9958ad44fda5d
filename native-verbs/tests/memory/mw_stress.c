/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows and regions that change while they are read: a thread binds and gives back windows of type 1, another moves a
 * region to and fro. A READ brings the bytes of what was bound then, or is refused.
 */
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BYTES = 8192, ROUNDS = 60 };

static struct pair keeper; /* `b` binds; readers connect to QPs of its domain */
static struct region *halves; /* one half full of 1, the other of 2 */
static struct ibv_mr *moving;
static _Atomic uint32_t window_key;
static atomic_bool stopping;

static void *bind_windows(void *unused)
{
	(void)unused;
	while (!atomic_load(&stopping)) {
		struct ibv_mw *mw = ibv_alloc_mw(keeper.b.pd, IBV_MW_TYPE_1);

		CHECK(mw);
		for (int i = 0; i < 3; i++) {
			struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
						   .bind_info = {halves->mr, (uintptr_t)halves->bytes, BYTES / 2,
								 IBV_ACCESS_REMOTE_READ}};

			CHECK_EQUAL(ibv_bind_mw(keeper.b.qp, mw, &bind), 0);
			expect_completion(keeper.b.cq, 0, IBV_WC_SUCCESS);
			atomic_store(&window_key, mw->rkey);
			usleep(200);
		}
		CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
	}
	return NULL;
}

static void *move_region(void *unused)
{
	(void)unused;
	for (int i = 0; !atomic_load(&stopping); i++) {
		CHECK_EQUAL(softverbs_ibv_rereg_mr(moving, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
						   halves->bytes + i % 2 * (BYTES / 2), BYTES / 2, 0),
			    0);
		usleep(100);
	}
	return NULL;
}

static void read_once(struct side *far, uint32_t rkey, uint64_t address, uint8_t expected)
{
	struct region *region;
	struct side side;

	open_side(&side, 16, 16);
	region = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	far->qp = create_qp(far, 16);
	connect_sides(&side, far, NULL, NULL);
	for (int i = 0; i < 20; i++) {
		struct ibv_wc wc;

		CHECK_EQUAL(post_read(side.qp, 1, region, BYTES / 2, address, rkey), 0);
		wc = wait_completion(side.cq);
		if (wc.status != IBV_WC_SUCCESS) {
			CHECK_EQUAL(wc.status, IBV_WC_REM_ACCESS_ERR);
			break;
		}
		for (int k = 0; k < BYTES / 2; k++)
			CHECK_EQUAL(region->bytes[k], expected);
	}
	CHECK_EQUAL(softverbs_ibv_destroy_qp(far->qp), 0);
	close_side(&side);
}

static void *read_windows(void *unused)
{
	struct side far = keeper.b;

	(void)unused;
	far.cq = softverbs_ibv_create_cq(far.context, 16, NULL, NULL, 0);
	CHECK(far.cq);
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2)
			read_once(&far, atomic_load(&window_key), (uintptr_t)halves->bytes, 1);
		else
			read_once(&far, moving->rkey, (uintptr_t)halves->bytes + BYTES / 2, 2);
	}
	CHECK_EQUAL(softverbs_ibv_destroy_cq(far.cq), 0);
	return NULL;
}

int main(void)
{
	void *(*const bodies[])(void *) = {bind_windows, move_region, read_windows, read_windows};
	pthread_t threads[COUNT_OF(bodies)];

	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_LOG", "error", 1);
	open_pair(&keeper, NULL, NULL);
	halves = add_region(&keeper.b, BYTES, ALL_REMOTE | IBV_ACCESS_MW_BIND);
	memset(halves->bytes, 1, BYTES / 2);
	memset(halves->bytes + BYTES / 2, 2, BYTES / 2);
	moving = softverbs_ibv_reg_mr(keeper.b.pd, halves->bytes, BYTES / 2, ALL_REMOTE);
	CHECK(moving);
	for (size_t i = 0; i < COUNT_OF(bodies); i++)
		CHECK(!pthread_create(&threads[i], NULL, bodies[i], NULL));
	for (size_t i = COUNT_OF(bodies); i-- > 0;) {
		CHECK(!pthread_join(threads[i], NULL));
		atomic_store(&stopping, i <= 2); /* when both readers have ended */
	}
	CHECK_EQUAL(softverbs_ibv_dereg_mr(moving), 0);
	close_pair(&keeper);
}
