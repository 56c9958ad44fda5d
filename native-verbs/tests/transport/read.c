/* SPDX-License-Identifier: Apache-2.0 */
/* A READ from another process brings the region's bytes, at every length, offset and scatter list, on the path asked. */
#include "offer.h"

enum { REGION_BYTES = 8 << 20 };

static void serve(int fd)
{
	serve_region(fd, REGION_BYTES);
}

static void read_and_compare(struct side *side, struct region *sink, const struct offer *offer,
			     const uint8_t *expected, uint64_t offset, uint32_t length)
{
	uint32_t first = length / 3;
	struct ibv_sge list[3] = {sge_of(sink, 10, first), sge_of(sink, 10 + first, 0),
				  sge_of(sink, 10 + first, length - first)};
	struct ibv_send_wr *bad, wr = {
					 .wr_id = offset,
					 .sg_list = list,
					 .num_sge = 3,
					 .opcode = IBV_WR_RDMA_READ,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.rdma = {offer->addr + offset, offer->rkey},
				 };
	struct ibv_wc wc;

	memset(sink->bytes, 0, length + 20);
	CHECK_EQUAL(ibv_post_send(side->qp, &wr, &bad), 0);
	wc = expect_completion(side->cq, offset, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_RDMA_READ);
	CHECK_EQUAL(wc.byte_len, length);
	CHECK(!memcmp(sink->bytes + 10, expected + offset, length));
	CHECK(!sink->bytes[9] && !sink->bytes[10 + length]);
}

static void expect_path(uint64_t reads)
{
	struct softverbs_counters counters = counters_now();

	if (test_device())
		return;
	CHECK_EQUAL(test_path_is("file") ? counters.reads_file : 0, counters.reads_file);
	CHECK_EQUAL(test_path_is("cma") ? counters.reads_cma : 0, counters.reads_cma);
	CHECK_EQUAL(counters.reads_file + counters.reads_cma + counters.reads_wire, reads);
	/* No short cut for an empty READ: it only asks whether the other side is there. */
	CHECK_EQUAL(counters.reads_tcp, test_path_is("tcp") ? reads : 0);
	CHECK_EQUAL(counters.reads_wire, test_path_is_wire() ? reads : 1);
}

static void body(void)
{
	static const uint32_t lengths[] = {0, 1, 2, 4095, 4096, 65536, 1 << 20, (1 << 20) + 1, 5000001};
	struct test_peer peer = test_start_peer(serve);
	uint8_t *expected = malloc(REGION_BYTES);
	struct region *sink;
	struct side side;
	struct offer offer;

	fill_pattern(expected, REGION_BYTES, 1);
	offer = open_reader(peer.fd, &side, REGION_BYTES, NULL, &sink);
	for (unsigned int i = 0; i < COUNT_OF(lengths); i++)
		read_and_compare(&side, sink, &offer, expected, i * 12345, lengths[i]);
	read_and_compare(&side, sink, &offer, expected, REGION_BYTES - 7, 7);
	expect_path(COUNT_OF(lengths) + 1);
	close_side(&side);
	check_no_leaks();
	test_finish_peer(&peer);
	free(expected);
}

MAIN(on_each_path, body)
