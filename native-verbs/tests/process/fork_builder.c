/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child of a fork waits for nobody: neither for the thread that was building requests at that moment nor in calls on
 * thread and parent domains. All of them say EIO.
 */
#define ibv_create_qp softverbs_ibv_create_qp
#include "softdev_fixture.h"

#include <pthread.h>

struct scene {
	struct side side;
	struct ibv_qp_ex *qp;
	struct ibv_td *td;
	pthread_barrier_t building, forked;
};

/* Holds the builder while the process forks. */
static void *build(void *argument)
{
	struct scene *scene = argument;

	ibv_wr_start(scene->qp);
	pthread_barrier_wait(&scene->building);
	pthread_barrier_wait(&scene->forked);
	ibv_wr_abort(scene->qp);
	return NULL;
}

static void use_in_child(struct scene *scene)
{
	struct ibv_parent_domain_init_attr domain = {.pd = scene->side.pd};
	struct ibv_td_init_attr td = {0};

	alarm(TEST_SECONDS);
	ibv_wr_start(scene->qp);
	ibv_wr_send(scene->qp);
	CHECK_EQUAL(ibv_wr_complete(scene->qp), EIO);
	ibv_wr_start(scene->qp);
	ibv_wr_abort(scene->qp);
	CHECK_REFUSED(ibv_alloc_td(scene->side.context, &td), EIO);
	CHECK_REFUSED(ibv_alloc_parent_domain(scene->side.context, &domain), EIO);
	CHECK_EQUAL(ibv_dealloc_td(scene->td), EIO);
}

static void open_scene(struct scene *scene)
{
	struct ibv_td_init_attr td = {0};
	struct ibv_qp_init_attr_ex attr = {
		.cap = {4, 4, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	open_side(&scene->side, 16, 4);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(scene->side.qp), 0);
	attr.send_cq = attr.recv_cq = scene->side.cq;
	attr.pd = scene->side.pd;
	scene->side.qp = ibv_create_qp_ex(scene->side.context, &attr);
	CHECK(scene->side.qp);
	scene->qp = softverbs_ibv_qp_to_qp_ex(scene->side.qp);
	CHECK(scene->qp);
	scene->td = ibv_alloc_td(scene->side.context, &td);
	CHECK(scene->td);
	pthread_barrier_init(&scene->building, NULL, 2);
	pthread_barrier_init(&scene->forked, NULL, 2);
}

int main(void)
{
	struct scene scene;
	pthread_t builder;
	pid_t child;

	alarm(TEST_SECONDS);
	open_scene(&scene);
	CHECK_EQUAL(pthread_create(&builder, NULL, build, &scene), 0);
	pthread_barrier_wait(&scene.building);
	child = test_fork();
	if (!child) {
		use_in_child(&scene);
		_exit(0);
	}
	test_join(child);
	pthread_barrier_wait(&scene.forked);
	CHECK_EQUAL(pthread_join(builder, NULL), 0);
	CHECK_EQUAL(ibv_dealloc_td(scene.td), 0);
	close_side(&scene.side);
	check_no_leaks();
}
