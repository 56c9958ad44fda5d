/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls fail with the errno asked for, at the event asked for, as often as it says, once over all processes if asked, and
 * leave nothing behind.
 */
#include "fault_fixture.h"

static void createsFailOnce(void)
{
	struct ibv_device **list = softverbs_ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct pair pair;

	CHECK_REFUSED(softverbs_ibv_open_device(list[0]), ENODEV);
	softverbs_ibv_free_device_list(list);
	context = open_device();
	CHECK_REFUSED(softverbs_ibv_alloc_pd(context), EPERM);
	CHECK_REFUSED(softverbs_ibv_create_comp_channel(context), EMFILE);
	CHECK_REFUSED(softverbs_ibv_create_cq(context, 8, NULL, NULL, 0), ENOSPC);
	pd = softverbs_ibv_alloc_pd(context);
	cq = softverbs_ibv_create_cq(context, 8, NULL, NULL, 0);
	CHECK(pd && cq);
	CHECK_EQUAL(softverbs_ibv_resize_cq(cq, 16), EOPNOTSUPP);
	CHECK_EQUAL(cq->cqe, 8);
	CHECK_EQUAL(softverbs_ibv_resize_cq(cq, 16), 0);
	init.send_cq = init.recv_cq = cq;
	CHECK_REFUSED(softverbs_ibv_create_qp(pd, &init), ENOMEM);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(cq), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
	open_fault_pair(&pair, NULL);
	expect_good_read(&pair, 1);
	close_pair(&pair);
}

/* One registration after the other: the errno of each, 0 if it succeeds. */
static void expect_registrations(const int *errors, int count)
{
	static char bytes[64];
	struct side side;

	open_side(&side, 16, 16);
	for (int i = 0; i < count; i++) {
		struct ibv_mr *mr = softverbs_ibv_reg_mr(side.pd, bytes, sizeof(bytes), 0);

		CHECK_EQUAL(mr ? 0 : errno, errors[i]);
		if (mr)
			CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
	}
	close_side(&side);
}

static void secondAndThirdFail(void)
{
	expect_registrations((const int[]){0, ENOMEM, ENOMEM, 0}, 4);
}

static void firstFails(void)
{
	expect_registrations((const int[]){EPERM, 0}, 2);
}

static void noneFails(void)
{
	expect_registrations((const int[]){0, 0}, 2);
}

static void moveToOneStateFails(struct pair *pair)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};

	CHECK_EQUAL(softverbs_ibv_modify_qp(pair->a.qp, &error, IBV_QP_STATE), EIO);
	CHECK_EQUAL(state_of(pair->a.qp), IBV_QPS_RTS);
	move_qp(pair->a.qp, IBV_QPS_ERR);
}

enum { WRS = 5 };

static void postEndsAtOneRequest(struct pair *pair)
{
	struct ibv_sge sge = sge_of(pair->local, 0, 64);
	struct ibv_send_wr wrs[WRS], *bad = NULL;

	for (int i = 0; i < WRS; i++)
		chain_read(wrs, i, WRS, &sge, (uintptr_t)pair->remote->bytes, pair->remote->mr->rkey);
	CHECK_EQUAL(ibv_post_send(pair->a.qp, wrs, &bad), ENOMEM);
	CHECK(bad == &wrs[2]);
	expect_completions(pair->a.cq, 0, 1, IBV_WC_SUCCESS);
	expect_no_completion(pair->a.cq);
	expect_good_read(pair, 9);
}

/* A bad request is refused as without faults: its list is not read before it has been looked at. */
static void badListsAreRefused(struct pair *pair)
{
	struct ibv_send_wr no_list = {.opcode = IBV_WR_SEND, .num_sge = 1};
	struct ibv_send_wr negative = {.opcode = IBV_WR_SEND, .num_sge = -1};
	struct ibv_send_wr listless = {.opcode = IBV_WR_LOCAL_INV, .num_sge = 1};
	struct ibv_send_wr *bad;

	CHECK_EQUAL(ibv_post_send(pair->a.qp, &no_list, &bad), EINVAL);
	CHECK_EQUAL(ibv_post_send(pair->a.qp, &negative, &bad), EINVAL);
	CHECK_EQUAL(ibv_post_send(pair->a.qp, &listless, &bad), 0); /* which has no list at all */
	expect_completion(pair->a.cq, 0, IBV_WC_MW_BIND_ERR);
}

static void receiveIsRefused(struct pair *pair)
{
	for (int i = 1; i <= 3; i++)
		CHECK_EQUAL(post_receive(pair->a.qp, i, sge_of(pair->local, 0, 8)), i == 2 ? ENOMEM : 0);
}

static int post_one(struct pair *pair, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t length)
{
	return post(pair->a.qp, opcode, wr_id, sge_of(pair->local, 0, length), (uintptr_t)pair->remote->bytes,
		    pair->remote->mr->rkey);
}

/* Only WRITEs of 1000 bytes or more: what the filters keep out is not even counted. */
static void filtersLetOthersPass(struct pair *pair)
{
	expect_good_read(pair, 1);
	pair_run(pair, IBV_WR_RDMA_WRITE, 2, 999, IBV_WC_SUCCESS);
	pair_run(pair, IBV_WR_RDMA_READ, 3, 2000, IBV_WC_SUCCESS);
	CHECK_EQUAL(post_one(pair, IBV_WR_RDMA_WRITE, 4, 1000), EFAULT);
	pair_run(pair, IBV_WR_RDMA_WRITE, 5, 1000, IBV_WC_SUCCESS);
}

/* Posts so many READs; the bits of those that fail. */
static uint64_t posts_that_fail(struct pair *pair, int count)
{
	uint64_t failed = 0;

	for (int i = 0; i < count; i++) {
		int error = post_one(pair, IBV_WR_RDMA_READ, i, 64);

		CHECK(!error || error == EAGAIN);
		if (error)
			failed |= 1ull << i;
		else
			expect_completion(pair->a.cq, i, IBV_WC_SUCCESS);
	}
	return failed;
}

static void everyThirdFails(struct pair *pair)
{
	CHECK_EQUAL(posts_that_fail(pair, 12), 1 << 1 | 1 << 4 | 1 << 7);
}

/* One in four, at the same events whenever the seed is the same; seed 5 and 6 differ. */
static void drawsBySeed(struct pair *pair)
{
	FILE *file = fopen("drawn", "a+");
	uint64_t drawn = posts_that_fail(pair, 60);
	unsigned long long before;
	int others = 0;

	CHECK(file);
	CHECK(__builtin_popcountll(drawn) > 4 && __builtin_popcountll(drawn) < 30);
	for (rewind(file); fscanf(file, "%llx", &before) == 1; others++)
		CHECK_EQUAL(drawn == before, others == 0 && !strstr(getenv("SOFTVERBS_FAULT"), "seed=6"));
	fprintf(file, "%llx\n", (unsigned long long)drawn);
	CHECK(!fclose(file));
}

static void callTakesLonger(void)
{
	struct ibv_context *context = open_device();
	uint64_t start = test_now_ms();
	struct ibv_pd *pd = softverbs_ibv_alloc_pd(context);

	CHECK(pd && test_now_ms() - start >= 200);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
}

static const struct fault_case cases[] = {
	{"open_device:errno=ENODEV;alloc_pd:errno=EPERM;create_comp_channel:errno=EMFILE;"
	 "create_cq:errno=ENOSPC;resize_cq:errno=EOPNOTSUPP;create_qp:errno=ENOMEM", .body = createsFailOnce},
	{"reg_mr:errno=12,nth=2,count=2", .body = secondAndThirdFail},
	{"reg_mr:errno=1,once=claimed", .body = firstFails},
	{"reg_mr:errno=1,once=claimed", .body = noneFails},
	{"modify_qp:errno=EIO,state=ERR", .between = moveToOneStateFails},
	{"post_send:errno=ENOMEM,nth=3", .between = postEndsAtOneRequest},
	{"post_send:errno=11,nth=1000", .between = badListsAreRefused},
	{"post_recv:errno=ENOMEM,nth=2", .between = receiveIsRefused},
	{"post_send:errno=EFAULT,opcode=WRITE,min_length=1000", .between = filtersLetOthersPass},
	{"post_send:errno=EAGAIN,nth=2,every=3,count=3", .between = everyThirdFails},
	{"seed=5;post_send:errno=EAGAIN,probability=250", .between = drawsBySeed},
	{"post_send:errno=EAGAIN,probability=250;seed=5", .between = drawsBySeed},
	{"seed=6;post_send:errno=EAGAIN,probability=250", .between = drawsBySeed},
	{"alloc_pd:delay=200", .body = callTakesLonger},
};

/* The cases leave their files in a folder that goes with them. */
int main(int argc, char **argv)
{
	char folder[] = "/tmp/softdev-fault-XXXXXX";

	if (argc == 2)
		return RUN_FAULT_CASES(cases);
	CHECK(mkdtemp(folder) && !chdir(folder));
	RUN_FAULT_CASES(cases);
	CHECK(!unlink("claimed") && !unlink("drawn") && !rmdir(folder));
	return 0;
}
