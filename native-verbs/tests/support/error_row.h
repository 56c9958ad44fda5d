/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of docs/error-semantics.md: a work request that fails, between one that succeeds and two that are flushed,
 * and everything that both ends show of it; the same on each path.
 */
#ifndef SHUFFLE_RDMA_ERROR_ROW_H
#define SHUFFLE_RDMA_ERROR_ROW_H

#include "softdev_fixture.h"

enum {
	ROW_BYTES = 65536,
	NO_EVENT = -1,
	/* wr_ids: of the requester's send queue, and of the receives of both */
	FIRST = 1,
	FAILING,
	BEHIND,
	BEHIND_UNSIGNALLED,
	REQUESTERS_RECEIVE = 11,
	RESPONDERS_RECEIVE = 21,
	SETTLE_MS = 20,
};

struct error_run {
	struct pair pair;
	struct region local, remote;  /* ROW_BYTES each, at `a` and at `b`, that may be used in every way */
	struct ibv_sge receives[2];   /* what `b` posts; 64 bytes each of `remote` */
	struct ibv_sge list[2];	      /* the list of the request that fails; 8 bytes of `local` */
	struct ibv_mr *extra, *far;   /* of `a` or `b`, deregistered in the end */
	struct ibv_mw *window;	      /* likewise given back */
};

struct error_row {
	struct connection requester, responder;
	bool no_first;	  /* no request can succeed before */
	bool no_receives; /* the responder has posted none */
	/* Before anything is posted, and with the request that is to fail: a WRITE of `list` to `remote`. */
	void (*prepare)(struct error_run *run);
	void (*fill)(struct error_run *run, struct ibv_send_wr *wr);
	enum ibv_wc_status status;  /* of the request */
	enum ibv_wc_status receive; /* of the responder's oldest receive; IBV_WC_SUCCESS: none has completed */
	enum ibv_qp_state responder_state;
	int responder_event; /* enum ibv_event_type or NO_EVENT */
};

/* The responder does not notice, or fails too. */
#define FAILS_ALONE(status_) \
	.status = (status_), .responder_state = IBV_QPS_RTS, .responder_event = NO_EVENT
#define FAILS_BOTH(status_, receive_, event_) \
	.status = (status_), .receive = (receive_), .responder_state = IBV_QPS_ERR, .responder_event = (event_)

static inline struct ibv_send_wr request_of(struct error_run *run, uint64_t wr_id, enum ibv_wr_opcode opcode)
{
	return (struct ibv_send_wr){
		.wr_id = wr_id,
		.sg_list = run->list,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = wr_id == BEHIND_UNSIGNALLED ? 0 : IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)run->remote.bytes, run->remote.mr->rkey},
	};
}

static inline void post_requests(struct error_run *run, const struct error_row *row)
{
	struct ibv_sge good = sge_of(&run->local, 0, 8);
	struct ibv_send_wr *bad, wrs[4] = {
		request_of(run, FIRST, row->responder.access & IBV_ACCESS_REMOTE_READ ? IBV_WR_RDMA_READ
										     : IBV_WR_RDMA_WRITE),
		request_of(run, FAILING, IBV_WR_RDMA_WRITE),
		request_of(run, BEHIND, IBV_WR_RDMA_WRITE),
		request_of(run, BEHIND_UNSIGNALLED, IBV_WR_RDMA_READ),
	};

	wrs[0].sg_list = wrs[2].sg_list = wrs[3].sg_list = &good;
	if (row->fill)
		row->fill(run, &wrs[1]);
	for (int i = 0; i < 3; i++)
		wrs[i].next = &wrs[i + 1];
	CHECK_EQUAL(ibv_post_send(run->pair.a.qp, &wrs[row->no_first ? 1 : 0], &bad), 0);
}

/* A completion of the send queue, or (at another time) of the receive queue: each is in order for itself. */
static inline void expect_all(struct side *side, const uint64_t *wr_ids, const enum ibv_wc_status *statuses,
			      int count)
{
	bool seen[8] = {false};

	for (int done = 0; done < count; done++) {
		struct ibv_wc wc = wait_completion(side->cq);
		int i = 0;

		while (i < count && wr_ids[i] != wc.wr_id)
			i++;
		CHECK(i < count);
		CHECK(!seen[i]);
		seen[i] = true;
		for (int earlier = 0; earlier < i; earlier++)
			CHECK(seen[earlier] || wr_ids[earlier] / 10 != wr_ids[i] / 10);
		CHECK_EQUAL(wc.qp_num, side->qp->qp_num);
		if (wc.status != statuses[i])
			fprintf(stderr, "wr_id %d: %s\n", (int)wc.wr_id,
				softverbs_ibv_wc_status_str(wc.status));
		CHECK_EQUAL(wc.status, statuses[i]);
	}
}

static inline void expect_flush_of_new_requests(struct side *side)
{
	struct ibv_sge none = {0};

	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 31, none, 0, 0), 0);
	CHECK_EQUAL(post_receive(side->qp, 41, none), 0);
	expect_all(side, (const uint64_t[]){31, 41},
		   (const enum ibv_wc_status[]){IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR}, 2);
}

static inline void expect_requester(struct error_run *run, const struct error_row *row)
{
	const uint64_t wr_ids[] = {FIRST, FAILING, BEHIND, BEHIND_UNSIGNALLED, REQUESTERS_RECEIVE,
				   REQUESTERS_RECEIVE + 1};
	const enum ibv_wc_status statuses[] = {IBV_WC_SUCCESS,	    row->status,
					       IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR,
					       IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR};
	int skipped = row->no_first;

	expect_all(&run->pair.a, wr_ids + skipped, statuses + skipped, 6 - skipped);
	CHECK_EQUAL(run->pair.a.qp->state, IBV_QPS_RTS); /* the member follows this program's calls alone */
	expect_state(run->pair.a.qp, IBV_QPS_ERR);
	CHECK_EQUAL(run->pair.a.qp->state, IBV_QPS_ERR);
	expect_flush_of_new_requests(&run->pair.a);
}

static inline void expect_responder(struct error_run *run, const struct error_row *row)
{
	const uint64_t wr_ids[] = {RESPONDERS_RECEIVE, RESPONDERS_RECEIVE + 1};
	const enum ibv_wc_status statuses[] = {row->receive, IBV_WC_WR_FLUSH_ERR};
	struct side *b = &run->pair.b;

	if (row->responder_event != NO_EVENT)
		expect_async(b, row->responder_event);
	expect_state(b->qp, row->responder_state);
	if (row->receive != IBV_WC_SUCCESS && !row->no_receives)
		expect_all(b, wr_ids, statuses, 2);
	if (row->responder_state == IBV_QPS_ERR)
		expect_flush_of_new_requests(b);
}

static inline void expect_silence(struct error_run *run)
{
	test_sleep_ms(SETTLE_MS);
	expect_no_completion(run->pair.a.cq);
	expect_no_completion(run->pair.b.cq);
	CHECK(!test_readable(run->pair.a.context->async_fd, 0));
	CHECK(!test_readable(run->pair.b.context->async_fd, 0));
}

static inline void run_row_once(const struct error_row *row)
{
	struct error_run run = {.extra = NULL};

	open_pair(&run.pair, &row->requester, &row->responder);
	run.local = create_region(run.pair.a.pd, ROW_BYTES, ALL_REMOTE);
	run.remote = create_region(run.pair.b.pd, ROW_BYTES, ALL_REMOTE);
	run.list[0] = run.list[1] = sge_of(&run.local, 0, 8);
	run.receives[0] = run.receives[1] = sge_of(&run.remote, 0, 64);
	if (row->prepare)
		row->prepare(&run);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(post_receive(run.pair.a.qp, REQUESTERS_RECEIVE + i, run.list[0]), 0);
		if (!row->no_receives)
			CHECK_EQUAL(post_receive(run.pair.b.qp, RESPONDERS_RECEIVE + i, run.receives[i]), 0);
	}
	post_requests(&run, row);
	expect_requester(&run, row);
	expect_responder(&run, row);
	expect_silence(&run);
	if (run.window)
		CHECK_EQUAL(ibv_dealloc_mw(run.window), 0);
	if (run.extra)
		CHECK_EQUAL(softverbs_ibv_dereg_mr(run.extra), 0);
	if (run.far)
		CHECK_EQUAL(softverbs_ibv_dereg_mr(run.far), 0);
	destroy_region(&run.local);
	destroy_region(&run.remote);
	close_pair(&run.pair);
}

/* The rows of a test, up to one without a status; and its main(): each of them on each path. */
static const struct error_row rows[];

static inline void run_rows(void)
{
	for (const struct error_row *row = rows; row->status != IBV_WC_SUCCESS; row++)
		run_row_once(row);
}

int main(void)
{
	on_each_path(run_rows);
	return 0;
}

#endif
