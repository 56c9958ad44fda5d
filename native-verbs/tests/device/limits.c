/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that ibv_query_device tells: so many there can be, and the next one is refused. */
#include "softdev_fixture.h"

enum { MANY = 70000 };

static void *objects[MANY];
static struct side side;
static struct ibv_device_attr device;
static uint8_t bytes[64];

static void *new_pd(void) { return softverbs_ibv_alloc_pd(side.context); }
static int drop_pd(void *pd) { return softverbs_ibv_dealloc_pd(pd); }
static void *new_cq(void) { return softverbs_ibv_create_cq(side.context, 1, NULL, NULL, 0); }
static int drop_cq(void *cq) { return softverbs_ibv_destroy_cq(cq); }
static void *new_mr(void) { return softverbs_ibv_reg_mr(side.pd, bytes, sizeof(bytes), ALL_REMOTE); }
static int drop_mr(void *mr) { return softverbs_ibv_dereg_mr(mr); }
static void *new_mw(void) { return ibv_alloc_mw(side.pd, IBV_MW_TYPE_2); }
static int drop_mw(void *mw) { return ibv_dealloc_mw(mw); }
static int drop_qp(void *qp) { return softverbs_ibv_destroy_qp(qp); }
static int drop_srq(void *srq) { return softverbs_ibv_destroy_srq(srq); }
static int drop_ah(void *ah) { return softverbs_ibv_destroy_ah(ah); }

static struct ibv_qp *qp_of(struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr init = {.send_cq = side.cq, .recv_cq = side.cq, .cap = cap, .qp_type = IBV_QPT_RC};

	return softverbs_ibv_create_qp(side.pd, &init);
}

static void *new_qp(void) { return qp_of((struct ibv_qp_cap){1, 1, 1, 1, 0}); }

static void *new_srq(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};

	return softverbs_ibv_create_srq(side.pd, &init);
}

static void *new_ah(void)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}};

	CHECK_EQUAL(softverbs_ibv_query_gid(side.context, 1, 0, &attr.grh.dgid), 0);
	return softverbs_ibv_create_ah(side.pd, &attr);
}

/* `taken` exist already. */
static void expect_as_many(const char *what, int limit, int taken, void *(*create)(void), int (*destroy)(void *))
{
	int count = 0;

	while (count < MANY && (objects[count] = create()))
		count++;
	printf("%s: %d and %d of %d\n", what, taken, count, limit);
	CHECK_EQUAL(errno, ENOMEM);
	CHECK_EQUAL(count + taken, limit);
	while (count--)
		CHECK_EQUAL(destroy(objects[count]), 0);
	objects[0] = create(); /* and again */
	CHECK(objects[0]);
	CHECK_EQUAL(destroy(objects[0]), 0);
}

static void queuesCanBeAsLarge(void)
{
	uint32_t wr = device.max_qp_wr, sge = device.max_sge;
	const struct ibv_qp_cap too_much[] = {
		{wr + 1, 1, 1, 1, 0}, {1, wr + 1, 1, 1, 0}, {1, 1, sge + 1, 1, 0}, {1, 1, 1, sge + 1, 0}};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = device.max_srq_wr, .max_sge = device.max_srq_sge}};
	struct ibv_qp *qp = qp_of((struct ibv_qp_cap){wr, wr, sge, sge, 0});
	struct ibv_srq *shared = softverbs_ibv_create_srq(side.pd, &srq);
	struct ibv_cq *cq = softverbs_ibv_create_cq(side.context, device.max_cqe, NULL, NULL, 0);

	CHECK(qp && shared && cq);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_srq(shared), 0);
	CHECK_EQUAL(softverbs_ibv_resize_cq(cq, device.max_cqe + 1), EINVAL);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(cq), 0);
	for (size_t i = 0; i < COUNT_OF(too_much); i++)
		CHECK_REFUSED(qp_of(too_much[i]), EINVAL);
	srq.attr.max_wr = device.max_srq_wr + 1;
	CHECK_REFUSED(softverbs_ibv_create_srq(side.pd, &srq), EINVAL);
}

int main(void)
{
	open_side(&side, 4, 4);
	CHECK_EQUAL(softverbs_ibv_query_device(side.context, &device), 0);
	expect_as_many("protection domains", device.max_pd, 1, new_pd, drop_pd);
	expect_as_many("completion queues", device.max_cq, 1, new_cq, drop_cq);
	expect_as_many("queue pairs", device.max_qp, 1, new_qp, drop_qp);
	expect_as_many("shared receive queues", device.max_srq, 0, new_srq, drop_srq);
	expect_as_many("address handles", device.max_ah, 0, new_ah, drop_ah);
	expect_as_many("regions", device.max_mr, 0, new_mr, drop_mr);
	expect_as_many("memory windows", device.max_mw, 0, new_mw, drop_mw);
	queuesCanBeAsLarge();
	close_side(&side);
	check_no_leaks();
}
