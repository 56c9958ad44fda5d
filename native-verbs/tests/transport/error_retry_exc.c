/* SPDX-License-Identifier: Apache-2.0 */
/* A responder that does not answer: RETRY_EXC_ERR; it stays as it is. */
#include "error_row.h"

/* 4.2 ms, twice. */
#define QUICK .timeout = 10, .retry_count = 1

static void turned_away(struct error_run *run)
{
	struct address other = address_of(&run->pair.b);

	reconnect_side(&run->pair.b, &other, NULL);
}

static void not_ready(struct error_run *run)
{
	move_qp(run->pair.b.qp, IBV_QPS_RESET);
	to_init(run->pair.b.qp, ALL_REMOTE);
}

#define UNANSWERED .no_first = true, FAILS_ALONE(IBV_WC_RETRY_EXC_ERR)

static const struct error_row rows[] = {
	{.name = "sq_psn ahead of rq_psn", .requester = {QUICK, .sq_psn = 6}, .responder = {.rq_psn = 5}, UNANSWERED},
	{.name = "sq_psn behind rq_psn", .requester = {QUICK, .sq_psn = 5}, .responder = {.rq_psn = 6}, UNANSWERED},
	{.name = "connected to another", .requester = {QUICK}, .spoil = turned_away, UNANSWERED},
	{.name = "in INIT",
	 .requester = {QUICK},
	 .no_first = true,
	 .spoil = not_ready,
	 .status = IBV_WC_RETRY_EXC_ERR,
	 .responder_state = IBV_QPS_INIT,
	 .responder_event = NO_EVENT},
	{.status = IBV_WC_SUCCESS},
};
