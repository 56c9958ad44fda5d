/* SPDX-License-Identifier: Apache-2.0 */
/* A responder that does not answer: RETRY_EXC_ERR; it stays as it is. */
#include "error_row.h"

/* 4.2 ms, twice. */
#define QUICK .timeout = 10, .retry_count = 1

static void turned_away(struct error_run *run)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct address other = address_of(&run->pair.b);

	CHECK_EQUAL(softverbs_ibv_modify_qp(run->pair.b.qp, &reset, IBV_QP_STATE), 0);
	connect_side(&run->pair.b, &other, NULL);
}

static void not_ready(struct error_run *run)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	CHECK_EQUAL(softverbs_ibv_modify_qp(run->pair.b.qp, &reset, IBV_QP_STATE), 0);
	to_init(run->pair.b.qp, ALL_REMOTE);
}

static const struct error_row rows[] = {
	{.name = "sq_psn ahead of rq_psn",
	 .requester = {QUICK, .sq_psn = 6},
	 .responder = {.rq_psn = 5},
	 .no_first = true,
	 FAILS_ALONE(IBV_WC_RETRY_EXC_ERR)},
	{.name = "sq_psn behind rq_psn",
	 .requester = {QUICK, .sq_psn = 5},
	 .responder = {.rq_psn = 6},
	 .no_first = true,
	 FAILS_ALONE(IBV_WC_RETRY_EXC_ERR)},
	{.name = "connected to another",
	 .requester = {QUICK},
	 .no_first = true,
	 .prepare = turned_away,
	 FAILS_ALONE(IBV_WC_RETRY_EXC_ERR)},
	{.name = "in INIT",
	 .requester = {QUICK},
	 .no_first = true,
	 .prepare = not_ready,
	 .status = IBV_WC_RETRY_EXC_ERR,
	 .responder_state = IBV_QPS_INIT,
	 .responder_event = NO_EVENT},
	{.status = IBV_WC_SUCCESS},
};
