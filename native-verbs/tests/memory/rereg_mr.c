/* SPDX-License-Identifier: Apache-2.0 */
/* ibv_rereg_mr: another place, domain or access for a region whose keys stay, and nothing changed by a call that fails. */
#include "softdev_fixture.h"

enum { BYTES = 65536 };

struct scene {
	struct pair pair;
	struct region sink, source;
};

static void open_scene(struct scene *scene)
{
	open_pair(&scene->pair, NULL, NULL);
	scene->sink = create_region(scene->pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->source = create_region(scene->pair.b.pd, BYTES, ALL_REMOTE);
	fill_pattern(scene->source.bytes, BYTES, 5);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->sink);
	destroy_region(&scene->source);
	close_pair(&scene->pair);
}

static int change(struct scene *scene, int flags, struct ibv_pd *pd, void *address, size_t length, int access)
{
	return softverbs_ibv_rereg_mr(scene->source.mr, flags, pd, address, length, access);
}

static void read_from(struct scene *scene, const void *address, enum ibv_wc_status status)
{
	CHECK_EQUAL(post_read(scene->pair.a.qp, 1, &scene->sink, 64, (uintptr_t)address, scene->source.mr->rkey), 0);
	expect_completion(scene->pair.a.cq, 1, status);
	if (status == IBV_WC_SUCCESS)
		CHECK(!memcmp(scene->sink.bytes, address, 64));
}

CASE(anotherPlace)
{
	struct scene scene;
	uint32_t lkey, rkey;
	uint8_t *other;

	open_scene(&scene);
	lkey = scene.source.mr->lkey;
	rkey = scene.source.mr->rkey;
	read_from(&scene, scene.source.bytes, IBV_WC_SUCCESS);
	other = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(other != MAP_FAILED);
	fill_pattern(other, 4096, 6);
	CHECK_EQUAL(change(&scene, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, 4096, 0), 0);
	CHECK(scene.source.mr->addr == other && scene.source.mr->length == 4096);
	CHECK(scene.source.mr->lkey == lkey && scene.source.mr->rkey == rkey);
	read_from(&scene, other, IBV_WC_SUCCESS);
	read_from(&scene, other + 4096 - 64, IBV_WC_SUCCESS);
	read_from(&scene, scene.source.bytes, IBV_WC_REM_ACCESS_ERR);
	close_scene(&scene);
	munmap(other, 4096);
}

CASE(anotherDomain)
{
	struct ibv_pd *other;
	struct scene scene;

	open_scene(&scene);
	read_from(&scene, scene.source.bytes, IBV_WC_SUCCESS);
	other = softverbs_ibv_alloc_pd(scene.pair.b.context);
	CHECK(other);
	CHECK_EQUAL(change(&scene, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	CHECK(scene.source.mr->pd == other);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(other), EBUSY);
	CHECK_EQUAL(change(&scene, IBV_REREG_MR_CHANGE_PD, scene.pair.b.pd, NULL, 0, 0), 0);
	read_from(&scene, scene.source.bytes, IBV_WC_SUCCESS);
	CHECK_EQUAL(change(&scene, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	read_from(&scene, scene.source.bytes, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(scene.source.mr), 0);
	scene.source.mr = NULL;
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(other), 0);
	close_scene(&scene);
}

CASE(anotherAccess)
{
	struct scene scene;

	open_scene(&scene);
	read_from(&scene, scene.source.bytes, IBV_WC_SUCCESS);
	CHECK_EQUAL(change(&scene, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), 0);
	read_from(&scene, scene.source.bytes, IBV_WC_REM_ACCESS_ERR);
	close_scene(&scene);
	open_scene(&scene);
	CHECK_EQUAL(change(&scene, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), 0);
	CHECK_EQUAL(change(&scene, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_REMOTE), 0);
	read_from(&scene, scene.source.bytes, IBV_WC_SUCCESS);
	close_scene(&scene);
}

CASE(whatFailsChangesNothing)
{
	const int translation = IBV_REREG_MR_CHANGE_TRANSLATION, access = IBV_REREG_MR_CHANGE_ACCESS;
	struct ibv_mw_bind bind = {.bind_info = {.length = BYTES, .mw_access_flags = IBV_ACCESS_REMOTE_READ}};
	struct ibv_context *other;
	struct ibv_pd *other_pd;
	struct ibv_mw *mw;
	struct scene scene;

	open_scene(&scene);
	CHECK_EQUAL(change(&scene, 0x80, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(change(&scene, translation, NULL, NULL, 4096, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(change(&scene, translation, NULL, scene.source.bytes, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(change(&scene, translation, NULL, scene.source.bytes, 64, ALL_REMOTE), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(change(&scene, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQUAL(errno, EINVAL);
	CHECK_EQUAL(change(&scene, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(errno, EINVAL);
	other = open_device();
	other_pd = softverbs_ibv_alloc_pd(other);
	CHECK(other_pd);
	CHECK_EQUAL(change(&scene, IBV_REREG_MR_CHANGE_PD, other_pd, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(errno, EINVAL);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(other_pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(other), 0);
	CHECK_EQUAL(change(&scene, access, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(change(&scene, translation, NULL, (void *)4096, 4096, 0), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(errno, EFAULT);
	read_from(&scene, scene.source.bytes, IBV_WC_SUCCESS);
	/* A window keeps its region as it is. */
	CHECK_EQUAL(change(&scene, access, NULL, NULL, 0, ALL_REMOTE | IBV_ACCESS_MW_BIND), 0);
	mw = ibv_alloc_mw(scene.pair.b.pd, IBV_MW_TYPE_1);
	CHECK(mw);
	bind.bind_info.mr = scene.source.mr;
	bind.bind_info.addr = (uintptr_t)scene.source.bytes;
	bind.send_flags = IBV_SEND_SIGNALED;
	CHECK_EQUAL(ibv_bind_mw(scene.pair.b.qp, mw, &bind), 0);
	expect_completion(scene.pair.b.cq, 0, IBV_WC_SUCCESS);
	CHECK_EQUAL(change(&scene, access, NULL, NULL, 0, ALL_REMOTE), IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(errno, EBUSY);
	CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
	close_scene(&scene);
}

int main(void)
{
	on_each_path(run_cases);
}
