/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As many queue pairs as the device has, connected to each other in pairs within this process and used in both directions. Each
 * has a link of its own, with a descriptor at either end, and little more is open.
 */
#include "descriptors.h"
#include "softdev_fixture.h"

enum { PAIRS = 2048, QPS_AT_ONCE = 128, BYTES = 64, MAX_DESCRIPTORS = 4 * PAIRS + 200 };

/* Many connect at the same time, on a host that may be busy. */
static const struct connection patient = {.no_timeout = true};

static struct ibv_qp *qps[2 * PAIRS];

static void connect_to(const struct side *side, struct ibv_qp *qp, struct ibv_qp *other)
{
	struct side own = *side, remote = *side;
	struct address address;

	own.qp = qp;
	remote.qp = other;
	address = address_of(&remote);
	connect_side(&own, &address, &patient);
}

int main(void)
{
	int before = open_descriptors();
	struct region *source, *sink;
	struct side side;

	alarm(TEST_SECONDS);
	allow_descriptors(MAX_DESCRIPTORS + 100);
	open_side(&side, 4, 1);
	source = add_region(&side, BYTES, ALL_REMOTE);
	sink = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	memset(source->bytes, 5, BYTES);
	qps[0] = side.qp;
	for (int i = 1; i < 2 * PAIRS; i++)
		qps[i] = create_qp(&side, 1);
	for (int first = 0; first < 2 * PAIRS; first += QPS_AT_ONCE) {
		for (int i = first; i < first + QPS_AT_ONCE; i++)
			connect_to(&side, qps[i], qps[i ^ 1]);
		for (int i = first; i < first + QPS_AT_ONCE; i++) {
			memset(sink->bytes, 0, BYTES);
			CHECK_EQUAL(post_read(qps[i], i, sink, BYTES, (uintptr_t)source->bytes, source->mr->rkey), 0);
			expect_completion(side.cq, i, IBV_WC_SUCCESS);
			CHECK_EQUAL(sink->bytes[BYTES - 1], 5);
		}
	}
	CHECK(open_descriptors() - before < MAX_DESCRIPTORS);
	for (int i = 1; i < 2 * PAIRS; i++)
		CHECK_EQUAL(softverbs_ibv_destroy_qp(qps[i]), 0);
	close_side(&side);
	check_no_leaks();
	return 0;
}
