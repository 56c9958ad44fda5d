/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A responder that breaks the rules of the wire: BAD_RESP_ERR for the request that waits, nothing but the sink of a READ
 * is written, no descriptor stays behind, and the next connection works.
 */
#include "descriptors.h"
#include "raw_responder.h"
#include "softdev_fixture.h"

enum { PAGE = 4096, SINK_BYTES = 4096, LARGE_BYTES = 16 << 20 };

static const uint8_t payload[2 * SINK_BYTES] = {1, 2, 3};

/* `asked` is the first request that came. */
static void answer(int fd, const struct frame *asked, struct frame frame)
{
	frame.seq += asked->seq;
	raw_write_frame(fd, &frame, payload);
}

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

static void unknown_op(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = 99});
}

static void request_in_place_of_answer(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_SEND, .length = 8});
}

static void ack_of_the_future(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_ACK, .seq = 100});
}

static void ack_of_the_past(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_ACK, .seq = -1});
}

static void ack_with_payload(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_ACK, .length = 8});
}

static void ack_without_data(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_ACK});
}

static void nak_without_a_cause(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_NAK, .status = IBV_WC_SUCCESS});
}

static void nak_with_a_local_cause(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_NAK, .status = IBV_WC_LOC_PROT_ERR});
}

static void nak_with_no_status(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_NAK, .status = 0xffff});
}

static void nak_of_another(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_NAK, .status = IBV_WC_REM_OP_ERR, .seq = 1});
}

static void rnr_nak_with_no_code(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_RNR_NAK, .status = 32});
}

static void rnr_nak_of_another(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_RNR_NAK, .status = 1, .seq = 7});
}

static void second_open_reply(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_QP_OPEN_REPLY, .length = sizeof(struct qp_open_reply)});
}

static void data_for_no_read(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_READ_DATA, .length = 8, .total = 8});
}

static struct frame data_of(const struct frame *asked)
{
	return (struct frame){.op = WIRE_READ_DATA, .length = asked->total, .total = asked->total};
}

static void data_of_another(int fd, const struct frame *asked)
{
	struct frame frame = data_of(asked);

	frame.seq = 1;
	answer(fd, asked, frame);
}

static void too_much_data(int fd, const struct frame *asked)
{
	struct frame frame = data_of(asked);

	frame.length++;
	answer(fd, asked, frame);
}

static void data_with_wrong_total(int fd, const struct frame *asked)
{
	struct frame frame = data_of(asked);

	frame.total++;
	answer(fd, asked, frame);
}

static void data_at_wrong_offset(int fd, const struct frame *asked)
{
	struct frame frame = data_of(asked);

	frame.length = 8;
	frame.arg = asked->total - 4;
	answer(fd, asked, frame);
}

static void data_after_all_data(int fd, const struct frame *asked)
{
	answer(fd, asked, data_of(asked));
	answer(fd, asked, data_of(asked));
}

static void empty_data(int fd, const struct frame *asked)
{
	struct frame frame = data_of(asked);

	frame.length = 0;
	answer(fd, asked, frame);
}

static void half_the_data(int fd, const struct frame *asked)
{
	struct frame frame = data_of(asked);

	frame.length /= 2;
	answer(fd, asked, frame);
	answer(fd, asked, (struct frame){.op = WIRE_ACK});
}

static void rnr_nak_at_once(int fd, const struct frame *asked)
{
	answer(fd, asked, (struct frame){.op = WIRE_RNR_NAK, .status = 1});
}

static const struct scenario {
	void (*misbehave)(int fd, const struct frame *asked);
	enum ibv_wr_opcode opcode;
	bool early; /* before the request, a long one, is through */
} scenarios[] = {
	{ack_without_data, IBV_WR_RDMA_WRITE, true},
	{rnr_nak_at_once, IBV_WR_RDMA_WRITE, true},

	{unknown_op, IBV_WR_RDMA_WRITE, false},
	{unknown_op, IBV_WR_RDMA_READ, false},
	{request_in_place_of_answer, IBV_WR_SEND, false},
	{ack_of_the_future, IBV_WR_RDMA_WRITE, false},
	{ack_of_the_past, IBV_WR_RDMA_WRITE, false},
	{ack_with_payload, IBV_WR_SEND, false},
	{ack_without_data, IBV_WR_RDMA_READ, false},
	{nak_without_a_cause, IBV_WR_RDMA_WRITE, false},
	{nak_with_a_local_cause, IBV_WR_RDMA_READ, false},
	{nak_with_no_status, IBV_WR_SEND, false},
	{nak_of_another, IBV_WR_RDMA_WRITE, false},
	{rnr_nak_with_no_code, IBV_WR_SEND, false},
	{rnr_nak_of_another, IBV_WR_SEND, false},
	{second_open_reply, IBV_WR_RDMA_READ, false},
	{data_for_no_read, IBV_WR_RDMA_WRITE, false},
	{data_of_another, IBV_WR_RDMA_READ, false},
	{too_much_data, IBV_WR_RDMA_READ, false},
	{data_with_wrong_total, IBV_WR_RDMA_READ, false},
	{data_at_wrong_offset, IBV_WR_RDMA_READ, false},
	{data_after_all_data, IBV_WR_RDMA_READ, false},
	{empty_data, IBV_WR_RDMA_READ, false},
	{half_the_data, IBV_WR_RDMA_READ, false},
};

enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };

static void respond(int control)
{
	struct frame asked, frame;
	uint16_t port;
	int listener = raw_responder_listen(&port);

	test_send(control, &port, sizeof(port));
	for (int i = 0; i < SCENARIOS; i++) {
		int fd = raw_responder_accept(listener);

		if (scenarios[i].early)
			CHECK_EQUAL(recv(fd, &asked, sizeof(asked), MSG_WAITALL), sizeof(asked));
		else
			CHECK(raw_read_frame(fd, &asked, NULL, 0));
		scenarios[i].misbehave(fd, &asked);
		while (raw_read_frame(fd, &frame, NULL, 0))
			;
		close(fd);
	}
	/* The last one answers before it was asked, with a descriptor that nobody wants. */
	{
		int fd = raw_responder_accept(listener);

		test_await(control);
		answer_with_descriptor(fd, &(struct frame){.op = WIRE_ACK});
		while (raw_read_frame(fd, &frame, NULL, 0))
			;
		close(fd);
	}
	test_await(control);
}

static void connect_anew(struct side *side, uint16_t port)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct address remote = address_of(side);

	remote.qpn = (uint32_t)port << 8 | RAW_QP_INDEX;
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &reset, IBV_QP_STATE), 0);
	connect_side(side, &remote, NULL);
}

static void expect_bad_response(struct side *side, const struct region *region, const struct region *large,
				const struct scenario *scenario)
{
	struct ibv_sge sge = scenario->early ? sge_of(large, 0, LARGE_BYTES) : sge_of(region, PAGE, SINK_BYTES);

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
	struct region region, large;
	struct side side;
	uint16_t port;
	int descriptors = 0;

	test_receive(peer.fd, &port, sizeof(port));
	open_side(&side, 16, 16);
	region = create_region(side.pd, 3 * PAGE, ALL_REMOTE);
	large = create_region(side.pd, LARGE_BYTES, ALL_REMOTE);
	for (int i = 0; i < SCENARIOS; i++) {
		fprintf(stderr, "scenario %d\n", i);
		connect_anew(&side, port);
		expect_bad_response(&side, &region, &large, &scenarios[i]);
		if (!i)
			descriptors = open_descriptors();
	}
	connect_anew(&side, port);
	test_signal(peer.fd);
	expect_async(&side, IBV_EVENT_QP_FATAL);
	expect_state(side.qp, IBV_QPS_ERR);
	expect_descriptors(descriptors);
	test_signal(peer.fd);
	destroy_region(&region);
	destroy_region(&large);
	close_side(&side);
	test_join_peer(&peer);
}
