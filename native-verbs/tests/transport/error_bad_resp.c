/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A responder that breaks the rules of the wire: BAD_RESP_ERR for the request that waits, nothing but the sink of a READ
 * is written, no descriptor stays behind, and the next connection works.
 */
#include "descriptors.h"
#include "raw_responder.h"

enum { PAGE = 4096, SINK_BYTES = 4096, LARGE_BYTES = 16 << 20 };

/* What comes in answer to a request of SINK_BYTES; `seq` counts from the request's. */
static const struct scenario {
	const char *name;
	enum ibv_wr_opcode opcode;
	struct frame answers[2]; /* the second one may be none */
	bool early;		 /* before the request, of LARGE_BYTES, is through */
} scenarios[] = {
#define DATA .op = WIRE_READ_DATA
	{"early ACK", IBV_WR_RDMA_WRITE, .answers = {{.op = WIRE_ACK}}, .early = true},
	{"early RNR NAK", IBV_WR_RDMA_WRITE, .answers = {{.op = WIRE_RNR_NAK, .status = 1}}, .early = true},
	{"unknown operation", IBV_WR_RDMA_WRITE, .answers = {{.op = 99}}},
	{"unknown operation", IBV_WR_RDMA_READ, .answers = {{.op = 99}}},
	{"request in place of an answer", IBV_WR_SEND, .answers = {{.op = WIRE_SEND, .length = 8}}},
	{"ACK of the future", IBV_WR_RDMA_WRITE, .answers = {{.op = WIRE_ACK, .seq = 100}}},
	{"ACK of the past", IBV_WR_RDMA_WRITE, .answers = {{.op = WIRE_ACK, .seq = -1}}},
	{"ACK with a payload", IBV_WR_SEND, .answers = {{.op = WIRE_ACK, .length = 8}}},
	{"ACK without data", IBV_WR_RDMA_READ, .answers = {{.op = WIRE_ACK}}},
	{"NAK without a cause", IBV_WR_RDMA_WRITE, .answers = {{.op = WIRE_NAK, .status = IBV_WC_SUCCESS}}},
	{"NAK with a local cause", IBV_WR_RDMA_READ, .answers = {{.op = WIRE_NAK, .status = IBV_WC_LOC_PROT_ERR}}},
	{"NAK with no status", IBV_WR_SEND, .answers = {{.op = WIRE_NAK, .status = 0xffff}}},
	{"NAK of another", IBV_WR_RDMA_WRITE, .answers = {{.op = WIRE_NAK, .status = IBV_WC_REM_OP_ERR, .seq = 1}}},
	{"RNR NAK with no code", IBV_WR_SEND, .answers = {{.op = WIRE_RNR_NAK, .status = 32}}},
	{"RNR NAK of another", IBV_WR_SEND, .answers = {{.op = WIRE_RNR_NAK, .status = 1, .seq = 7}}},
	{"second reply to the open",
	 IBV_WR_RDMA_READ,
	 .answers = {{.op = WIRE_QP_OPEN_REPLY, .length = sizeof(struct qp_open_reply)}}},
	{"data for no READ", IBV_WR_RDMA_WRITE, .answers = {{DATA, .length = 8, .total = 8}}},
	{"data of another", IBV_WR_RDMA_READ, .answers = {{DATA, .length = SINK_BYTES, .total = SINK_BYTES, .seq = 1}}},
	{"too much data", IBV_WR_RDMA_READ, .answers = {{DATA, .length = SINK_BYTES + 1, .total = SINK_BYTES}}},
	{"data with a wrong total", IBV_WR_RDMA_READ, .answers = {{DATA, .length = SINK_BYTES, .total = SINK_BYTES + 1}}},
	{"data at a wrong offset",
	 IBV_WR_RDMA_READ,
	 .answers = {{DATA, .length = 8, .total = SINK_BYTES, .arg = SINK_BYTES - 4}}},
	{"data after all data",
	 IBV_WR_RDMA_READ,
	 .answers = {{DATA, .length = SINK_BYTES, .total = SINK_BYTES}, {DATA, .length = SINK_BYTES, .total = SINK_BYTES}}},
	{"empty data", IBV_WR_RDMA_READ, .answers = {{DATA, .total = SINK_BYTES}}},
	{"half the data",
	 IBV_WR_RDMA_READ,
	 .answers = {{DATA, .length = SINK_BYTES / 2, .total = SINK_BYTES}, {.op = WIRE_ACK}}},
};

static void answer_with_descriptor(int fd, const struct frame *frame)
{
	union {
		char buffer[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {(void *)(uintptr_t)frame, sizeof(*frame)};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	CHECK_EQUAL(sendmsg(fd, &message, MSG_NOSIGNAL), sizeof(*frame));
}

static void misbehave(int fd, const struct scenario *scenario)
{
	static const uint8_t payload[2 * SINK_BYTES] = {1, 2, 3};
	struct frame asked;

	if (scenario->early)
		CHECK_EQUAL(recv(fd, &asked, sizeof(asked), MSG_WAITALL), sizeof(asked));
	else
		CHECK(raw_read_frame(fd, &asked, NULL, 0));
	for (int i = 0; i < 2 && scenario->answers[i].op; i++) {
		struct frame frame = scenario->answers[i];

		frame.seq += asked.seq;
		raw_write_frame(fd, &frame, payload);
	}
}

static void respond(int control)
{
	int listener = raw_responder_start(control), fd;

	for (unsigned int i = 0; i < COUNT_OF(scenarios); i++) {
		fd = raw_responder_accept(listener);
		misbehave(fd, &scenarios[i]);
		raw_drain(fd);
	}
	/* The last one answers before it was asked, with a descriptor that nobody wants. */
	fd = raw_responder_accept(listener);
	test_await(control);
	answer_with_descriptor(fd, &(struct frame){.op = WIRE_ACK});
	raw_drain(fd);
	test_await(control);
}

static void expect_bad_response(struct side *side, const struct region *region, const struct region *large,
				const struct scenario *scenario)
{
	struct ibv_sge sge = scenario->early ? sge_of(large, 0, LARGE_BYTES) : sge_of(region, PAGE, SINK_BYTES);

	fprintf(stderr, "%s\n", scenario->name);
	memset(region->bytes, 0xc5, 3 * PAGE);
	CHECK_EQUAL(post(side->qp, scenario->opcode, 1, sge, 4096, 1), 0);
	CHECK_EQUAL(post(side->qp, IBV_WR_RDMA_WRITE, 2, sge, 4096, 1), 0);
	expect_completion(side->cq, 1, IBV_WC_BAD_RESP_ERR);
	expect_completion(side->cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_state(side->qp, IBV_QPS_ERR);
	expect_no_completion(side->cq);
	CHECK(!test_readable(side->context->async_fd, 0));
	for (int i = 0; i < PAGE; i++)
		CHECK(region->bytes[i] == 0xc5 && region->bytes[2 * PAGE + i] == 0xc5);
}

int main(void)
{
	struct test_peer peer = test_start_peer(respond);
	struct region *region, *large;
	struct address remote;
	struct side side;
	int descriptors = 0;

	open_side(&side, 16, 16);
	remote = raw_responder_at(peer.fd, &side);
	region = add_region(&side, 3 * PAGE, ALL_REMOTE);
	large = add_region(&side, LARGE_BYTES, ALL_REMOTE);
	for (unsigned int i = 0; i < COUNT_OF(scenarios); i++) {
		reconnect_side(&side, &remote, NULL);
		expect_bad_response(&side, region, large, &scenarios[i]);
		if (!i)
			descriptors = open_descriptors();
	}
	reconnect_side(&side, &remote, NULL);
	test_signal(peer.fd);
	expect_async(&side, IBV_EVENT_QP_FATAL);
	expect_state(side.qp, IBV_QPS_ERR);
	expect_descriptors(descriptors);
	test_signal(peer.fd);
	close_side(&side);
	test_join_peer(&peer);
}
