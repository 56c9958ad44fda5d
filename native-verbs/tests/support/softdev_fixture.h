/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs connected by ibv_modify_qp: how they are opened, what they are asked to do, and what they must show of it. */
#ifndef SHUFFLE_RDMA_SOFTDEV_FIXTURE_H
#define SHUFFLE_RDMA_SOFTDEV_FIXTURE_H

#include "case.h"
#include "names.h"
#include "query_qp.h"
#include "real_device.h"
#include "region.h"

enum {
	ALL_REMOTE = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	WITH_ATOMIC = ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC,
	MAX_REGIONS = 20, /* of a side */
};

/* One side: a context with a PD, a CQ on a channel, a QP, and the regions that add_region() made. */
struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct region regions[MAX_REGIONS];
	int region_count;
	struct ibv_pd *other_pd; /* see other_domain() */
};

/* What the other side needs to know. */
struct address {
	uint32_t qpn;
	union ibv_gid gid;
};

/* What may be varied about a connection; zeros stand for the values in connect_side(). */
struct connection {
	unsigned int access;
	bool no_access;
	uint8_t timeout, retry_count, rnr_retry, rnr_timer, max_rd_atomic, max_dest_rd_atomic;
	bool no_responder_resources, no_initiator_depth, no_rnr_retry, no_retry, no_timeout;
	bool longest_rnr_timer; /* code 0 */
	uint32_t rq_psn, sq_psn;
	uint8_t sgid_index;
};

static inline struct ibv_context *open_device(void)
{
	struct ibv_device **list = softverbs_ibv_get_device_list(NULL), **device = list;
	struct ibv_context *context;

	CHECK(list);
	while (*device && test_device() && strcmp(softverbs_ibv_get_device_name(*device), test_device()))
		device++;
	CHECK(*device);
	context = softverbs_ibv_open_device(*device);
	CHECK(context);
	softverbs_ibv_free_device_list(list);
	if (test_device())
		check_real_libraries();
	return context;
}

static inline struct ibv_qp *create_qp_of(struct side *side, enum ibv_qp_type type, uint32_t max_wr)
{
	struct ibv_qp_init_attr init = {
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.cap = {max_wr, max_wr, 4, 4, 64},
		.qp_type = type,
	};
	struct ibv_qp *qp = softverbs_ibv_create_qp(side->pd, &init);

	CHECK(qp);
	return qp;
}

static inline struct ibv_qp *create_qp(struct side *side, uint32_t max_wr)
{
	return create_qp_of(side, IBV_QPT_RC, max_wr);
}

static inline void open_side_of(struct side *side, enum ibv_qp_type type, int cqe, uint32_t max_wr)
{
	side->region_count = 0;
	side->other_pd = NULL;
	side->context = open_device();
	side->pd = softverbs_ibv_alloc_pd(side->context);
	CHECK(side->pd);
	side->channel = softverbs_ibv_create_comp_channel(side->context);
	CHECK(side->channel);
	side->cq = softverbs_ibv_create_cq(side->context, cqe, side, side->channel, 0);
	CHECK(side->cq);
	side->qp = create_qp_of(side, type, max_wr);
}

static inline void open_side(struct side *side, int cqe, uint32_t max_wr)
{
	open_side_of(side, IBV_QPT_RC, cqe, max_wr);
}

/* From here on the region is the side's, and close_side() destroys it. */
static inline struct region *keep_region(struct side *side, struct region region)
{
	CHECK(side->region_count < MAX_REGIONS);
	side->regions[side->region_count] = region;
	return &side->regions[side->region_count++];
}

static inline struct region *add_region(struct side *side, size_t length, int access)
{
	return keep_region(side, create_region(side->pd, length, access));
}

/* Another PD of the side's context, which close_side() gives back. */
static inline struct ibv_pd *other_domain(struct side *side)
{
	if (!side->other_pd)
		side->other_pd = softverbs_ibv_alloc_pd(side->context);
	CHECK(side->other_pd);
	return side->other_pd;
}

/* Everything given back: each call must succeed. */
static inline void close_side(struct side *side)
{
	while (side->region_count)
		destroy_region(&side->regions[--side->region_count]);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side->qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side->cq), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_comp_channel(side->channel), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(side->pd), 0);
	if (side->other_pd)
		CHECK_EQUAL(softverbs_ibv_dealloc_pd(side->other_pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(side->context), 0);
}

/* What the software device counts; zeros of another device, whose objects are the kernel's to count. */
static inline struct softverbs_counters counters_now(void)
{
	struct softverbs_counters counters = {0};

	if (!test_device())
		CHECK_EQUAL(softverbs_get_counters(&counters, sizeof(counters)), 0);
	return counters;
}

static inline void check_no_leaks(void)
{
	struct softverbs_counters counters = counters_now();

	CHECK_EQUAL(counters.pd_live, 0);
	CHECK_EQUAL(counters.mr_live, 0);
	CHECK_EQUAL(counters.cq_live, 0);
	CHECK_EQUAL(counters.qp_live, 0);
	CHECK_EQUAL(counters.srq_live, 0);
	CHECK_EQUAL(counters.mw_live, 0);
}

static inline struct address address_of(const struct side *side)
{
	struct address address = {.qpn = side->qp->qp_num};

	CHECK_EQUAL(softverbs_ibv_query_gid(side->context, 1, 0, &address.gid), 0);
	return address;
}

/* The attributes that each move of an RC queue pair requires; a UC one has fewer. */
enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	UC_TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	TO_RTR = UC_TO_RTR | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	UC_TO_RTS = IBV_QP_STATE | IBV_QP_SQ_PSN,
	TO_RTS = UC_TO_RTS | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
};

static inline void to_init(struct ibv_qp *qp, unsigned int access)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access};

	CHECK_EQUAL(softverbs_ibv_modify_qp(qp, &attr, TO_INIT), 0);
}

static inline void to_rtr(struct ibv_qp *qp, const struct address *remote, const struct connection *how)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = remote->qpn,
		.max_dest_rd_atomic = how->max_dest_rd_atomic ? how->max_dest_rd_atomic : 16,
		.min_rnr_timer = how->longest_rnr_timer ? 0 : how->rnr_timer ? how->rnr_timer : 1,
		.rq_psn = how->rq_psn,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = remote->gid, .sgid_index = how->sgid_index, .hop_limit = 1}},
	};

	if (how->no_responder_resources)
		attr.max_dest_rd_atomic = 0;
	CHECK_EQUAL(softverbs_ibv_modify_qp(qp, &attr, qp->qp_type == IBV_QPT_RC ? TO_RTR : UC_TO_RTR), 0);
}

/* The time for an answer: 67 ms and more from another device, which may be that of an emulated processor. */
static inline uint8_t timeout_of(const struct connection *how)
{
	enum { USUAL = 14 };

	if (how->no_timeout)
		return 0;
	return !how->timeout || (test_device() && how->timeout < USUAL) ? USUAL : how->timeout;
}

static inline void to_rts(struct ibv_qp *qp, const struct connection *how)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = timeout_of(how),
		.retry_cnt = how->no_retry ? 0 : how->retry_count ? how->retry_count : 7,
		.sq_psn = how->sq_psn,
		.rnr_retry = how->no_rnr_retry ? 0 : how->rnr_retry ? how->rnr_retry : 7,
		.max_rd_atomic = how->no_initiator_depth ? 0
				 : how->max_rd_atomic	 ? how->max_rd_atomic
							 : 16,
	};

	CHECK_EQUAL(softverbs_ibv_modify_qp(qp, &attr, qp->qp_type == IBV_QPT_RC ? TO_RTS : UC_TO_RTS), 0);
}

static inline void connect_side(struct side *side, const struct address *remote,
				const struct connection *how)
{
	static const struct connection usual;

	if (!how)
		how = &usual;
	to_init(side->qp, how->no_access ? 0 : how->access ? how->access : ALL_REMOTE);
	to_rtr(side->qp, remote, how);
	to_rts(side->qp, how);
}

static inline void connect_sides(struct side *a, struct side *b, const struct connection *how_a,
				 const struct connection *how_b)
{
	struct address to_a = address_of(a), to_b = address_of(b);

	connect_side(b, &to_a, how_b);
	connect_side(a, &to_b, how_a);
}

/* A move that takes no attributes: to RESET or ERR, and those between RTS and SQD. */
static inline void move_qp(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	CHECK_EQUAL(softverbs_ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/* Connects it anew: it may be in any state. */
static inline void reconnect_side(struct side *side, const struct address *remote, const struct connection *how)
{
	move_qp(side->qp, IBV_QPS_RESET);
	connect_side(side, remote, how);
}

/* Two sides in this process: `a` asks, `b` answers. */
struct pair {
	struct side a, b;
	struct region *local, *remote; /* of `a`, of `b`; NULL without */
};

/* What may be varied about a pair with regions; zeros stand for the values in open_pair_as(). */
struct pair_setup {
	struct connection a, b;
	enum ibv_qp_type type;
	size_t bytes; /* of each region */
	int local_access, remote_access;
};

static inline void open_pair(struct pair *pair, const struct connection *a, const struct connection *b)
{
	open_side(&pair->a, 256, 64);
	open_side(&pair->b, 256, 64);
	connect_sides(&pair->a, &pair->b, a, b);
	pair->local = pair->remote = NULL;
}

/* A pair with a region on each side; that of `a` is filled with a pattern. */
static inline void open_pair_as(struct pair *pair, const struct pair_setup *setup)
{
	enum ibv_qp_type type = setup->type ? setup->type : IBV_QPT_RC;
	size_t bytes = setup->bytes ? setup->bytes : 4096;

	open_side_of(&pair->a, type, 256, 64);
	open_side_of(&pair->b, type, 256, 64);
	connect_sides(&pair->a, &pair->b, &setup->a, &setup->b);
	pair->local = add_region(&pair->a, bytes, setup->local_access ? setup->local_access : ALL_REMOTE);
	pair->remote = add_region(&pair->b, bytes, setup->remote_access ? setup->remote_access : ALL_REMOTE);
	fill_pattern(pair->local->bytes, bytes, 1);
}

static inline void close_pair(struct pair *pair)
{
	close_side(&pair->a);
	close_side(&pair->b);
	check_no_leaks();
}

/* One request on one piece of memory. */
static inline int post_wr(struct ibv_qp *qp, struct ibv_send_wr wr, struct ibv_sge sge)
{
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	return ibv_post_send(qp, &wr, &bad);
}

static inline int post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge sge,
		       uint64_t remote_addr, uint32_t rkey)
{
	return post_wr(qp, (struct ibv_send_wr){.wr_id = wr_id,
						.opcode = opcode,
						.send_flags = IBV_SEND_SIGNALED,
						.wr.rdma = {remote_addr, rkey}}, sge);
}

static inline int post_read(struct ibv_qp *qp, uint64_t wr_id, const struct region *sink, uint32_t length,
			    uint64_t remote_addr, uint32_t rkey)
{
	return post(qp, IBV_WR_RDMA_READ, wr_id, sge_of(sink, 0, length), remote_addr, rkey);
}

/* Request i of a chain of `count` signalled READs, whose wr_ids are their places in it. */
static inline void chain_read(struct ibv_send_wr *chain, int i, int count, struct ibv_sge *sge, uint64_t remote_addr,
			      uint32_t rkey)
{
	chain[i] = (struct ibv_send_wr){
		.wr_id = i,
		.next = i + 1 < count ? &chain[i + 1] : NULL,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {remote_addr, rkey},
	};
}

static inline int post_receive(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr *bad, wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	return ibv_post_recv(qp, &wr, &bad);
}

static inline int post_shared(struct ibv_srq *srq, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr *bad, wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	return ibv_post_srq_recv(srq, &wr, &bad);
}

/* `a` posts an operation of the first bytes of `local` on the first of `remote`. */
static inline void pair_post(struct pair *pair, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t length)
{
	CHECK_EQUAL(post(pair->a.qp, opcode, wr_id, sge_of(pair->local, 0, length), (uintptr_t)pair->remote->bytes,
			 pair->remote->mr->rkey),
		    0);
}

/* `b` posts a receive of the first bytes of `remote`. */
static inline void pair_receive(struct pair *pair, uint64_t wr_id, uint32_t length)
{
	CHECK_EQUAL(post_receive(pair->b.qp, wr_id, sge_of(pair->remote, 0, length)), 0);
}

/* The next completion; fails after WAIT_MS without one. */
static inline struct ibv_wc wait_completion(struct ibv_cq *cq)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;
	struct ibv_wc wc;
	int polled;

	while (!(polled = ibv_poll_cq(cq, 1, &wc))) {
		if (test_now_ms() >= deadline)
			test_end_differing("completion", "none", "one");
		usleep(100);
	}
	CHECK_EQUAL(polled, 1);
	return wc;
}

static inline struct ibv_wc expect_completion(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = wait_completion(cq);

	if (wc.status != status)
		test_end_differing("completion", status_name(wc.status), status_name(status));
	CHECK_EQUAL(wc.wr_id, wr_id);
	return wc;
}

/* Of the wr_ids from `first` to `last`, in order. */
static inline void expect_completions(struct ibv_cq *cq, uint64_t first, uint64_t last, enum ibv_wc_status status)
{
	for (uint64_t wr_id = first; wr_id <= last; wr_id++)
		expect_completion(cq, wr_id, status);
}

/* pair_post() and its completion. */
static inline struct ibv_wc pair_run(struct pair *pair, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t length,
				     enum ibv_wc_status status)
{
	pair_post(pair, opcode, wr_id, length);
	return expect_completion(pair->a.cq, wr_id, status);
}

/* Posts a READ to the start of `sink`, and takes its completion. */
static inline struct ibv_wc read_and_expect(struct side *side, uint64_t wr_id, const struct region *sink,
					    uint32_t length, uint64_t remote_addr, uint32_t rkey,
					    enum ibv_wc_status status)
{
	CHECK_EQUAL(post_read(side->qp, wr_id, sink, length, remote_addr, rkey), 0);
	return expect_completion(side->cq, wr_id, status);
}

static inline void expect_no_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	CHECK_EQUAL(ibv_poll_cq(cq, 1, &wc), 0);
}

/* None comes within this time. */
static inline void expect_silence(struct ibv_cq *cq, uint64_t milliseconds)
{
	uint64_t end = test_now_ms() + milliseconds;

	do {
		expect_no_completion(cq);
		usleep(2000);
	} while (test_now_ms() < end);
}

/* Takes the next event of a channel, and acknowledges it. */
static inline struct ibv_cq *take_cq_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	CHECK(test_readable(channel->fd, WAIT_MS));
	CHECK_EQUAL(softverbs_ibv_get_cq_event(channel, &cq, &context), 0);
	softverbs_ibv_ack_cq_events(cq, 1);
	return cq;
}

static inline void expect_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;

	while (state_of(qp) != state) {
		if (test_now_ms() >= deadline)
			test_end_differing("state", state_name(state_of(qp)), state_name(state));
		usleep(1000);
	}
}

static inline void expect_async(struct side *side, enum ibv_event_type type)
{
	struct ibv_async_event event;

	if (!test_readable(side->context->async_fd, WAIT_MS))
		test_end_differing("event", "none", event_name(type));
	CHECK_EQUAL(softverbs_ibv_get_async_event(side->context, &event), 0);
	if (event.event_type != type)
		test_end_differing("event", event_name(event.event_type), event_name(type));
	CHECK(event.element.qp == side->qp || event.element.cq == side->cq);
	softverbs_ibv_ack_async_event(&event);
}

/*
 * `PAIR_CASE(name) { ... }` is a case (case.h) with a pair that is open: `struct pair *pair`. Members of struct pair_setup may
 * follow the name: `PAIR_CASE(name, .bytes = 65536, .b.access = IBV_ACCESS_REMOTE_READ)`.
 */
#define PAIR_CASE(name, ...)                                                                       \
	static void name##_between(struct pair *pair);                                             \
	CASE(name)                                                                                 \
	{                                                                                          \
		struct pair pair;                                                                  \
                                                                                                   \
		open_pair_as(&pair, &(struct pair_setup){__VA_ARGS__});                            \
		name##_between(&pair);                                                             \
		close_pair(&pair);                                                                 \
	}                                                                                          \
	static void name##_between(struct pair *pair)

#endif
