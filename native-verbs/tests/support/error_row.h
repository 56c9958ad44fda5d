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
	MAX_WRS = 8,
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

/* What is seen of `what` is not what the row says. */
static inline void differ(struct error_run *run, const char *what, const char *seen, const char *expected)
{
	run->differs = true;
	test_say_difference(what, seen, expected);
}

/* What one end shows: `end` is its name. */
static inline void compare_state(struct error_run *run, const char *end, struct side *side, enum ibv_qp_state expected)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;
	char what[64];

	snprintf(what, sizeof(what), "%s's state", end);
	while (state_of(side->qp) != expected && test_now_ms() < deadline)
		usleep(1000);
	if (state_of(side->qp) != expected)
		differ(run, what, state_name(state_of(side->qp)), state_name(expected));
}

/* `expected` may be NO_EVENT: none may wait. */
static inline void compare_event(struct error_run *run, const char *end, struct side *side, int expected)
{
	struct ibv_async_event event;
	char what[64];

	snprintf(what, sizeof(what), "%s's event", end);
	if (!test_readable(side->context->async_fd, expected == NO_EVENT ? 0 : WAIT_MS)) {
		if (expected != NO_EVENT)
			differ(run, what, "none", event_name(expected));
		return;
	}
	CHECK_EQUAL(softverbs_ibv_get_async_event(side->context, &event), 0);
	if ((int)event.event_type != expected)
		differ(run, what, event_name(event.event_type), expected == NO_EVENT ? "none" : event_name(expected));
	else
		CHECK(event.element.qp == side->qp);
	softverbs_ibv_ack_async_event(&event);
}

/* The wr_ids of a queue have their tens in common. */
static inline uint64_t queue_of(uint64_t wr_id)
{
	return wr_id / 10;
}

/* What a completion that was not expected says. */
static inline void unexpected(struct error_run *run, const char *end, const struct ibv_wc *wc)
{
	char what[64];

	snprintf(what, sizeof(what), "%s's request %d", end, (int)wc->wr_id);
	differ(run, what, status_name(wc->status), "none");
}

/*
 * The completions of a side; those of its send queue, and those of its receive queue, are in order for themselves. False as
 * soon as one succeeds that should not: nothing that the row says follows then.
 */
static inline bool compare_completions(struct error_run *run, const char *end, struct side *side,
				       const uint64_t *wr_ids, const enum ibv_wc_status *statuses, int count)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;
	bool seen[MAX_WRS] = {false};
	uint64_t queue_of_missing = UINT64_MAX;
	char what[64];
	int done = 0;

	while (done < count && test_now_ms() < deadline) {
		struct ibv_wc wc;
		int i = 0;

		if (!ibv_poll_cq(side->cq, 1, &wc)) {
			usleep(100);
			continue;
		}
		while (i < count && (wr_ids[i] != wc.wr_id || seen[i]))
			i++;
		if (i == count) {
			unexpected(run, end, &wc);
			continue;
		}
		seen[i] = true;
		done++;
		CHECK_EQUAL(wc.qp_num, side->qp->qp_num);
		snprintf(what, sizeof(what), "%s's request %d", end, (int)wc.wr_id);
		for (int earlier = 0; earlier < i; earlier++)
			if (!seen[earlier] && queue_of(wr_ids[earlier]) == queue_of(wr_ids[i]))
				differ(run, what, "before an earlier one", "in order");
		if (wc.status != statuses[i])
			differ(run, what, status_name(wc.status), status_name(statuses[i]));
		if (wc.status != statuses[i] && wc.status == IBV_WC_SUCCESS)
			return false;
	}
	/* Of each queue the first that is missing: those behind it cannot be there. */
	for (int i = 0; i < count; i++) {
		if (seen[i] || queue_of(wr_ids[i]) == queue_of_missing)
			continue;
		queue_of_missing = queue_of(wr_ids[i]);
		snprintf(what, sizeof(what), "%s's request %d", end, (int)wr_ids[i]);
		differ(run, what, "none", status_name(statuses[i]));
	}
	return true;
}

static inline void compare_new_requests(struct error_run *run, const char *end, struct side *side)
{
	struct ibv_sge none = {0};

	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 31, none, 0, 0), 0);
	CHECK_EQUAL(post_receive(side->qp, 41, none), 0);
	compare_completions(run, end, side, (const uint64_t[]){31, 41},
			    (const enum ibv_wc_status[]){IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR}, 2);
}

/* False if the request did not fail at all: nothing else follows then. */
static inline bool compare_requester(struct error_run *run, const struct error_row *row)
{
	const uint64_t wr_ids[] = {FIRST, FAILING, BEHIND, BEHIND_UNSIGNALLED, REQUESTERS_RECEIVE,
				   REQUESTERS_RECEIVE + 1};
	const enum ibv_wc_status statuses[] = {IBV_WC_SUCCESS,	    row->status,
					       IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR,
					       IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR};
	struct side *a = &run->pair.a;
	int skipped = row->no_first;

	if (!compare_completions(run, "requester", a, wr_ids + skipped, statuses + skipped, 6 - skipped))
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
	const uint64_t wr_ids[] = {RESPONDERS_RECEIVE, RESPONDERS_RECEIVE + 1};
	const enum ibv_wc_status statuses[] = {row->receive, IBV_WC_WR_FLUSH_ERR};
	struct side *b = &run->pair.b;

	if (row->responder_event != NO_EVENT) {
		CHECK(!memchr(run->pair.remote->bytes, SPOILT, ROW_BYTES));
		compare_event(run, "responder", b, row->responder_event);
	}
	compare_state(run, "responder", b, row->responder_state);
	if (row->receive != IBV_WC_SUCCESS && !row->no_receives)
		compare_completions(run, "responder", b, wr_ids, statuses, 2);
	if (row->responder_state == IBV_QPS_ERR && state_of(b->qp) == IBV_QPS_ERR)
		compare_new_requests(run, "responder", b);
}

static inline void compare_silence(struct error_run *run)
{
	struct ibv_wc wc;

	test_sleep_ms(SETTLE_MS);
	while (ibv_poll_cq(run->pair.a.cq, 1, &wc) == 1)
		unexpected(run, "requester", &wc);
	while (ibv_poll_cq(run->pair.b.cq, 1, &wc) == 1)
		unexpected(run, "responder", &wc);
	compare_event(run, "requester", &run->pair.a, NO_EVENT);
	compare_event(run, "responder", &run->pair.b, NO_EVENT);
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
		compare_silence(&run);
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
