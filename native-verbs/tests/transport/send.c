/* SPDX-License-Identifier: Apache-2.0 */
/* SEND and RECV: data, immediate data, inline data, waiting for a receiver. error_* has the errors of the two ends. */
#include "softdev_fixture.h"

PAIR_CASE(sendBringsBytesAndLength)
{
	struct ibv_wc wc;

	pair_receive(pair, 5, pair->remote->length);
	pair_run(pair, IBV_WR_SEND, 1, 1000, IBV_WC_SUCCESS);
	wc = expect_completion(pair->b.cq, 5, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_RECV);
	CHECK_EQUAL(wc.byte_len, 1000);
	CHECK_EQUAL(wc.qp_num, pair->b.qp->qp_num);
	CHECK_EQUAL(wc.src_qp, pair->a.qp->qp_num);
	CHECK(!memcmp(pair->local->bytes, pair->remote->bytes, 1000));
	CHECK(!pair->remote->bytes[1000]);
}

PAIR_CASE(inlineDataIsTakenWhenPosted)
{
	char text[32] = "taken when posted";
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
				 .imm_data = htobe32(77)};
	struct ibv_wc wc;

	CHECK_EQUAL(post_wr(pair->a.qp, wr, (struct ibv_sge){(uintptr_t)text, sizeof(text), 0}), 0);
	memset(text, 'x', sizeof(text));
	pair_receive(pair, 5, pair->remote->length);
	wc = expect_completion(pair->b.cq, 5, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.wc_flags, IBV_WC_WITH_IMM);
	CHECK_EQUAL(wc.imm_data, htobe32(77));
	CHECK(!strcmp((char *)pair->remote->bytes, "taken when posted"));
	expect_completion(pair->a.cq, 0, IBV_WC_SUCCESS);
}

PAIR_CASE(sendsWaitForReceiversInOrder)
{
	for (int i = 0; i < 10; i++)
		CHECK_EQUAL(post(pair->a.qp, IBV_WR_SEND, i, sge_of(pair->local, i, 1), 0, 0), 0);
	for (int i = 0; i < 10; i++) {
		test_sleep_ms(i % 3); /* so that some are tried again in between */
		CHECK_EQUAL(post_receive(pair->b.qp, i, sge_of(pair->remote, i, 1)), 0);
	}
	expect_completions(pair->b.cq, 0, 9, IBV_WC_SUCCESS);
	expect_completions(pair->a.cq, 0, 9, IBV_WC_SUCCESS);
	CHECK(!memcmp(pair->local->bytes, pair->remote->bytes, 10));
}

/* A receive may be longer than its region, as long as no message reaches that far. */
PAIR_CASE(onlyWhatTheMessageNeedsOfAReceiveIsLookedAt)
{
	CHECK_EQUAL(post_receive(pair->b.qp, 5, sge_of(pair->remote, pair->remote->length - 11, 100)), 0);
	pair_run(pair, IBV_WR_SEND, 1, 11, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 5, IBV_WC_SUCCESS);
}

PAIR_CASE(badSenderFailsAlone)
{
	struct ibv_sge wrong_lkey = sge_of(pair->local, 0, 100);

	wrong_lkey.lkey++;
	pair_receive(pair, 5, 100);
	pair_post(pair, IBV_WR_SEND, 1, 10);
	CHECK_EQUAL(post(pair->a.qp, IBV_WR_SEND, 2, wrong_lkey, 0, 0), 0);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	expect_completion(pair->a.cq, 2, IBV_WC_LOC_PROT_ERR);
	expect_completion(pair->b.cq, 5, IBV_WC_SUCCESS);
	CHECK_EQUAL(state_of(pair->b.qp), IBV_QPS_RTS);
}

int main(void)
{
	run_cases();
}
