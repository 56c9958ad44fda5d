/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A completion for which its queue has no room: CQ_ERR, then QP_FATAL and ERR of every queue pair of that queue. What the
 * queue held can still be polled; the other end is not told.
 */
#include "softdev_fixture.h"

enum { ROOM = 2 };

static void body(void)
{
	struct region sink, source;
	struct side b;
	struct side narrow;
	struct address to_narrow, to_b;

	open_side(&b, 16, 16);
	open_side(&narrow, ROOM, 16);
	to_narrow = address_of(&narrow);
	to_b = address_of(&b);
	connect_side(&b, &to_narrow, NULL);
	connect_side(&narrow, &to_b, NULL);
	sink = create_region(narrow.pd, 4096, ALL_REMOTE);
	source = create_region(b.pd, 4096, ALL_REMOTE);
	for (int i = 0; i < ROOM + 2; i++)
		CHECK_EQUAL(post_read(narrow.qp, i, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_async(&narrow, IBV_EVENT_CQ_ERR);
	expect_async(&narrow, IBV_EVENT_QP_FATAL);
	expect_state(narrow.qp, IBV_QPS_ERR);
	for (int i = 0; i < ROOM; i++)
		expect_completion(narrow.cq, i, IBV_WC_SUCCESS);
	test_sleep_ms(10);
	expect_no_completion(narrow.cq);
	CHECK(!test_readable(narrow.context->async_fd, 0));
	CHECK_EQUAL(state_of(b.qp), IBV_QPS_RTS);
	CHECK(!test_readable(b.context->async_fd, 0));
	destroy_region(&sink);
	destroy_region(&source);
	close_side(&narrow);
	close_side(&b);
	check_no_leaks();
}

int main(void)
{
	on_each_path(body);
}
