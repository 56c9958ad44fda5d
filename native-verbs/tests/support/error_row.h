/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of docs/error-semantics.md: a work request that fails, between one that succeeds and two that are flushed,
 * and everything that both ends show of it; the same on each path. All that is not as the row says is written down before the
 * row fails.
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
	SPOILT = 0xc5,
	SGES = 4,
};

struct error_run {
	struct pair pair;	    /* its regions may be used in every way */
	struct ibv_sge receives[2]; /* what `b` posts; 64 bytes each of `remote` */
	struct ibv_sge list[SGES];  /* the list of the request that fails; its first 8 bytes of `local`, of SPOILT */
	struct ibv_send_wr failing;
	struct ibv_mw *window; /* of `a`, if the row allocates one */
	bool differs;
};

struct error_row {
	const char *name;
	struct connection requester, responder;
	bool no_first;	  /* no request can succeed before */
	bool no_receives; /* the responder has posted none */
	/* The request that is to fail: a WRITE, if no other is named, of `list` to `remote`, and what is wrong with it. */
	enum ibv_wr_opcode opcode;
	bool wrong_lkey, wrong_rkey;
	int64_t local_offset, remote_offset;
	void (*spoil)(struct error_run *run); /* what else is wrong; nothing is posted yet */
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
		.wr.rdma = {(uintptr_t)run->pair.remote->bytes, run->pair.remote->mr->rkey},
	};
}

/* What the row says of the request that fails. */
static inline void fill_failing(struct error_run *run, const struct error_row *row)
{
	run->list[0] = sge_of(run->pair.local, 0, 8);
	run->receives[0] = run->receives[1] = sge_of(run->pair.remote, 0, 64);
	run->failing = request_of(run, FAILING, row->opcode);
	run->failing.wr.rdma.remote_addr += row->remote_offset;
	run->failing.wr.rdma.rkey ^= row->wrong_rkey;
	run->list[0].addr += row->local_offset;
	run->list[0].lkey ^= row->wrong_lkey;
	memset(run->pair.local->bytes, SPOILT, 64);
	if (row->spoil)
		row->spoil(run);
}

static inline void post_requests(struct error_run *run, const struct error_row *row)
{
	struct ibv_sge good = sge_of(run->pair.local, 64, 8);
	struct ibv_send_wr *bad, wrs[4] = {
		request_of(run, FIRST, row->responder.access & IBV_ACCESS_REMOTE_READ ? IBV_WR_RDMA_READ
										     : IBV_WR_RDMA_WRITE),
		run->failing,
		request_of(run, BEHIND, IBV_WR_RDMA_WRITE),
		request_of(run, BEHIND_UNSIGNALLED, IBV_WR_RDMA_READ),
	};

	wrs[0].sg_list = wrs[2].sg_list = wrs[3].sg_list = &good;
	for (int i = 0; i < 3; i++)
		wrs[i].next = &wrs[i + 1];
	CHECK_EQUAL(ibv_post_send(run->pair.a.qp, &wrs[row->no_first ? 1 : 0], &bad), 0);
}

/* What one end shows is not what the row says: `end` is its name. */
static inline void differ(struct error_run *run, const char *end, const char *what, const char *seen,
			  const char *expected)
{
	char text[64];

	run->differs = true;
	snprintf(text, sizeof(text), "%s's %s", end, what);
	test_say_difference(text, seen, expected);
}

static inline void request_differs(struct error_run *run, const char *end, uint64_t wr_id, const char *seen,
				   const char *expected)
{
	char what[32];

	snprintf(what, sizeof(what), "request %d", (int)wr_id);
	differ(run, end, what, seen, expected);
}

static inline void compare_state(struct error_run *run, const char *end, struct side *side, enum ibv_qp_state expected)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;

	while (state_of(side->qp) != expected && test_now_ms() < deadline)
		usleep(1000);
	if (state_of(side->qp) != expected)
		differ(run, end, "state", state_name(state_of(side->qp)), state_name(expected));
}

/* `expected` may be NO_EVENT: none may wait. */
static inline void compare_event(struct error_run *run, const char *end, struct side *side, int expected)
{
	const char *expected_name = expected == NO_EVENT ? "none" : event_name(expected);
	struct ibv_async_event event;

	if (!test_readable(side->context->async_fd, expected == NO_EVENT ? 0 : WAIT_MS)) {
		if (expected != NO_EVENT)
			differ(run, end, "event", "none", expected_name);
		return;
	}
	CHECK_EQUAL(softverbs_ibv_get_async_event(side->context, &event), 0);
	if ((int)event.event_type != expected)
		differ(run, end, "event", event_name(event.event_type), expected_name);
	else
		CHECK(event.element.qp == side->qp);
	softverbs_ibv_ack_async_event(&event);
}

struct expected_completion {
	uint64_t wr_id; /* those of a queue have their tens in common */
	enum ibv_wc_status status;
};

/* Bit k of `seen` is that of all[k]. */
static inline bool is_behind_missing(const struct expected_completion *all, int i, unsigned int seen)
{
	for (int k = 0; k < i; k++)
		if (!(seen & 1u << k) && all[k].wr_id / 10 == all[i].wr_id / 10)
			return true;
	return false;
}

/*
 * The completions of a side; those of its send queue, and those of its receive queue, are in order for themselves. False as
 * soon as one succeeds that should not: nothing that the row says follows then.
 */
static inline bool compare_completions(struct error_run *run, const char *end, struct side *side,
				       const struct expected_completion *all, int count)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;
	unsigned int seen = 0;

	while (seen != (1u << count) - 1 && test_now_ms() < deadline) {
		struct ibv_wc wc;
		int i = 0;

		if (!ibv_poll_cq(side->cq, 1, &wc)) {
			usleep(100);
			continue;
		}
		while (i < count && (all[i].wr_id != wc.wr_id || seen & 1u << i))
			i++;
		if (i == count) {
			request_differs(run, end, wc.wr_id, status_name(wc.status), "none");
			continue;
		}
		seen |= 1u << i;
		CHECK_EQUAL(wc.qp_num, side->qp->qp_num);
		if (is_behind_missing(all, i, seen))
			request_differs(run, end, wc.wr_id, "before an earlier one", "in order");
		if (wc.status != all[i].status)
			request_differs(run, end, wc.wr_id, status_name(wc.status), status_name(all[i].status));
		if (wc.status != all[i].status && wc.status == IBV_WC_SUCCESS)
			return false;
	}
	/* Of each queue the first that is missing: those behind it cannot be there. */
	for (int i = 0; i < count; i++)
		if (!(seen & 1u << i) && !is_behind_missing(all, i, seen))
			request_differs(run, end, all[i].wr_id, "none", status_name(all[i].status));
	return true;
}

static inline void compare_new_requests(struct error_run *run, const char *end, struct side *side)
{
	const struct expected_completion all[] = {{31, IBV_WC_WR_FLUSH_ERR}, {41, IBV_WC_WR_FLUSH_ERR}};
	struct ibv_sge none = {0};

	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 31, none, 0, 0), 0);
	CHECK_EQUAL(post_receive(side->qp, 41, none), 0);
	compare_completions(run, end, side, all, COUNT_OF(all));
}

/* False if the request did not fail at all: nothing else follows then. */
static inline bool compare_requester(struct error_run *run, const struct error_row *row)
{
	const struct expected_completion all[] = {
		{FIRST, IBV_WC_SUCCESS},
		{FAILING, row->status},
		{BEHIND, IBV_WC_WR_FLUSH_ERR},
		{BEHIND_UNSIGNALLED, IBV_WC_WR_FLUSH_ERR},
		{REQUESTERS_RECEIVE, IBV_WC_WR_FLUSH_ERR},
		{REQUESTERS_RECEIVE + 1, IBV_WC_WR_FLUSH_ERR},
	};
	struct side *a = &run->pair.a;
	int skipped = row->no_first;

	if (!compare_completions(run, "requester", a, all + skipped, COUNT_OF(all) - skipped))
		return false;
	CHECK_EQUAL(a->qp->state, IBV_QPS_RTS); /* the member follows this program's calls alone */
	compare_state(run, "requester", a, IBV_QPS_ERR);
	CHECK_EQUAL(a->qp->state, state_of(a->qp));
	if (state_of(a->qp) == IBV_QPS_ERR)
		compare_new_requests(run, "requester", a);
	return true;
}

static inline void compare_responder(struct error_run *run, const struct error_row *row)
{
	const struct expected_completion all[] = {{RESPONDERS_RECEIVE, row->receive},
						  {RESPONDERS_RECEIVE + 1, IBV_WC_WR_FLUSH_ERR}};
	struct side *b = &run->pair.b;

	if (row->responder_event != NO_EVENT) {
		CHECK(!memchr(run->pair.remote->bytes, SPOILT, ROW_BYTES));
		compare_event(run, "responder", b, row->responder_event);
	}
	compare_state(run, "responder", b, row->responder_state);
	if (row->receive != IBV_WC_SUCCESS && !row->no_receives)
		compare_completions(run, "responder", b, all, COUNT_OF(all));
	if (row->responder_state == IBV_QPS_ERR && state_of(b->qp) == IBV_QPS_ERR)
		compare_new_requests(run, "responder", b);
}

/* Nothing else has come. */
static inline void compare_rest(struct error_run *run, const char *end, struct side *side)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(side->cq, 1, &wc) == 1)
		request_differs(run, end, wc.wr_id, status_name(wc.status), "none");
	compare_event(run, end, side, NO_EVENT);
}

static inline void run_row_once(const struct error_row *row)
{
	struct pair_setup setup = {.a = row->requester, .b = row->responder, .bytes = ROW_BYTES};
	struct error_run run = {.differs = false};

	open_pair_as(&run.pair, &setup);
	fill_failing(&run, row);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(post_receive(run.pair.a.qp, REQUESTERS_RECEIVE + i, run.list[0]), 0);
		if (!row->no_receives)
			CHECK_EQUAL(post_receive(run.pair.b.qp, RESPONDERS_RECEIVE + i, run.receives[i]), 0);
	}
	post_requests(&run, row);
	if (compare_requester(&run, row)) {
		compare_responder(&run, row);
		test_sleep_ms(SETTLE_MS);
		compare_rest(&run, "requester", &run.pair.a);
		compare_rest(&run, "responder", &run.pair.b);
	}
	if (run.differs) {
		fprintf(stderr, "in the row '%s'\n", row->name);
		exit(1);
	}
	if (run.window)
		CHECK_EQUAL(ibv_dealloc_mw(run.window), 0);
	close_pair(&run.pair);
}

/* The rows of a test, up to one without a status; and its main(): each of them on each path. */
static const struct error_row rows[];

static inline void run_rows(void)
{
	for (const struct error_row *row = rows; row->status != IBV_WC_SUCCESS; row++)
		if (case_begins(row->name)) {
			run_row_once(row);
			case_ends();
		}
}

int main(void)
{
	on_each_path(run_rows);
	return 0;
}

#endif
