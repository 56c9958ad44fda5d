/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child of a program that uses the device: what it inherited answers EIO and leaves the parent alone; when it begins anew it
 * has a device of its own, and so has its child.
 */
#include "facade_fixture.h"

static void use(struct device *device)
{
	open_all(device, "each generation anew");
	connect_and_send(device);
}

static void expect_stale(struct device *device)
{
	struct ibv_sge sge = {(uintptr_t)device->text, 8, device->mr->lkey};
	struct ibv_send_wr *bad, wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	CHECK_EQUAL(ibv_post_send(device->a, &wr, &bad), EIO);
	CHECK_EQUAL(ibv_modify_qp(device->a, &attr, IBV_QP_STATE), EIO);
	CHECK_EQUAL(ibv_destroy_qp(device->a), EIO);
	CHECK_EQUAL(ibv_dereg_mr(device->mr), EIO);
	CHECK_EQUAL(ibv_destroy_cq(device->cq), EIO);
}

/* In a child, with what its parent left it; and once more in its child. */
static void begin_anew(struct device *inherited, int generations)
{
	pid_t child = test_fork();
	struct device own;

	if (child) {
		test_join(child);
		return;
	}
	expect_stale(inherited);
	use(&own);
	expect_stale(inherited);
	if (generations > 1)
		begin_anew(&own, generations - 1);
	bytesGoThrough(own.b, own.a, own.cq, own.mr, own.text);
	give_back(&own);
	exit(0);
}

static void begin_anew_by_rdma_cm(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	CHECK(channel);
	rdma_destroy_event_channel(channel);
	/* the other library has the new engine too */
	CHECK(ibv_alloc_pd(open_first()));
}

int main(void)
{
	struct device device;

	use(&device);
	begin_anew(&device, 20);
	test_run_apart(begin_anew_by_rdma_cm);
	bytesGoThrough(device.b, device.a, device.cq, device.mr, device.text);
	give_back(&device);
}
