/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of RC, UC and UD: every move from every state either is there or is refused; with every attribute it
 * either is required, allowed or refused; and what is refused changes nothing.
 */
#include "softdev_fixture.h"

enum {
	S_RESET = 1 << IBV_QPS_RESET,
	S_ERR = 1 << IBV_QPS_ERR,
	STATES = IBV_QPS_ERR + 1,
	/* From everywhere but RESET, without attributes. */
	ANYWHERE = S_RESET | S_ERR,
	ALL_BITS = IBV_QP_RATE_LIMIT << 1,
};

struct move {
	enum ibv_qp_state from, to;
	int required, optional;
};

#define INIT_BITS (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR_BITS (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RC_LATER (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE)
#define UC_LATER (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE)
#define UD_LATER (IBV_QP_CUR_STATE | IBV_QP_QKEY)

static const struct move rc_moves[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, INIT_BITS | IBV_QP_ACCESS_FLAGS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, INIT_BITS | IBV_QP_ACCESS_FLAGS},
	{IBV_QPS_INIT, IBV_QPS_RTR, RTR_BITS | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	 IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	{IBV_QPS_RTR, IBV_QPS_RTS,
	 IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC, RC_LATER},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, RC_LATER},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, RC_LATER},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0,
	 IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER |
		 IBV_QP_PATH_MIG_STATE},
	{.required = -1},
};

static const struct move uc_moves[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, INIT_BITS | IBV_QP_ACCESS_FLAGS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, INIT_BITS | IBV_QP_ACCESS_FLAGS},
	{IBV_QPS_INIT, IBV_QPS_RTR, RTR_BITS, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, UC_LATER},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, UC_LATER},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, UC_LATER},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0,
	 IBV_QP_AV | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE},
	{IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
	{.required = -1},
};

static const struct move ud_moves[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, INIT_BITS | IBV_QP_QKEY, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, INIT_BITS | IBV_QP_QKEY},
	{IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, UD_LATER},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, UD_LATER},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, UD_LATER},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	{IBV_QPS_SQE, IBV_QPS_RTS, 0, UD_LATER},
	{.required = -1},
};

struct machine {
	enum ibv_qp_type type;
	const struct move *moves;
};

/* NULL if there is none. */
static const struct move *find(const struct machine *machine, enum ibv_qp_state from, enum ibv_qp_state to)
{
	static const struct move anywhere;
	const struct move *move = machine->moves;

	if ((ANYWHERE & 1 << to) && (from != IBV_QPS_RESET || to == IBV_QPS_RESET))
		return &anywhere;
	while (move->required != -1 && (move->from != from || move->to != to))
		move++;
	return move->required == -1 ? NULL : move;
}

static int modify(struct side *side, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct address own = address_of(side);
	struct ibv_qp_attr attr = {
		.qp_state = to,
		.cur_qp_state = from,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = own.qpn,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 1,
		.path_mig_state = IBV_MIG_MIGRATED,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = own.gid, .hop_limit = 1}},
	};

	return softverbs_ibv_modify_qp(side->qp, &attr, mask);
}

/* A request that fails here takes a UC or UD queue pair to SQE. */
static void fail_a_request(struct side *side, enum ibv_qp_type type)
{
	struct address own = address_of(side);
	struct ibv_ah_attr path = {.is_global = 1, .port_num = 1, .grh = {.dgid = own.gid, .hop_limit = 1}};
	struct ibv_ah *ah = softverbs_ibv_create_ah(side->pd, &path);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};

	CHECK(ah);
	if (type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = own.qpn;
	}
	CHECK_EQUAL(post_wr(side->qp, wr, (struct ibv_sge){4096, 8, 1}), 0); /* which is nowhere */
	expect_completion(side->cq, 0, IBV_WC_LOC_PROT_ERR);
	expect_state(side->qp, IBV_QPS_SQE);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
}

static void go_to(struct side *side, const struct machine *machine, enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD};

	move_qp(side->qp, IBV_QPS_RESET);
	for (int i = 1; i < 5 && state != way[i - 1]; i++) {
		if (state == IBV_QPS_ERR && i > 1)
			break;
		if (state == IBV_QPS_SQE && way[i] == IBV_QPS_SQD)
			break;
		CHECK_EQUAL(modify(side, way[i - 1], way[i],
				   IBV_QP_STATE | find(machine, way[i - 1], way[i])->required),
			    0);
	}
	if (state == IBV_QPS_ERR)
		move_qp(side->qp, IBV_QPS_ERR);
	if (state == IBV_QPS_SQE)
		fail_a_request(side, machine->type);
	CHECK_EQUAL(state_of(side->qp), state);
}

static void try_each_attribute(struct side *side, const struct machine *machine, const struct move *move,
			       enum ibv_qp_state from, enum ibv_qp_state to)
{
	for (int bit = IBV_QP_CUR_STATE; bit < ALL_BITS; bit <<= 1) {
		bool fits = !(move->required & bit) && (move->optional & bit);
		int mask = IBV_QP_STATE | (move->required ^ bit);

		if (modify(side, from, to, mask) != (fits ? 0 : EINVAL)) {
			fprintf(stderr, "type %d from %d to %d, attribute %#x\n", machine->type, from, to, bit);
			test_fail(__FILE__, __LINE__, "the attribute is as the table says");
		}
		CHECK_EQUAL(state_of(side->qp), fits ? to : from);
		if (fits)
			go_to(side, machine, from);
	}
	CHECK_EQUAL(modify(side, from, to, IBV_QP_STATE | move->required), 0);
	CHECK_EQUAL(state_of(side->qp), to);
}

static void try_each_move(const struct machine *machine)
{
	struct side side;

	open_side_of(&side, machine->type, 16, 4);
	for (int from = 0; from < STATES; from++)
		for (int to = 0; to < STATES; to++) {
			const struct move *move = find(machine, from, to);

			if (from == IBV_QPS_SQE && machine->type == IBV_QPT_RC)
				continue;
			go_to(&side, machine, from);
			if (move) {
				try_each_attribute(&side, machine, move, from, to);
				continue;
			}
			CHECK_EQUAL(modify(&side, from, to, IBV_QP_STATE), EINVAL);
			CHECK_EQUAL(modify(&side, from, to, IBV_QP_STATE | INIT_BITS | IBV_QP_ACCESS_FLAGS), EINVAL);
			CHECK_EQUAL(modify(&side, from, to, IBV_QP_STATE | RTR_BITS), EINVAL);
			CHECK_EQUAL(state_of(side.qp), from);
		}
	close_side(&side);
	check_no_leaks();
}

int main(void)
{
	const struct machine machines[] = {
		{IBV_QPT_RC, rc_moves}, {IBV_QPT_UC, uc_moves}, {IBV_QPT_UD, ud_moves}};

	alarm(TEST_SECONDS);
	for (int i = 0; i < 3; i++)
		try_each_move(&machines[i]);
}
