/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A requester that breaks the rules of the wire: the responder answers with a status, or closes, or ignores it; its queue
 * pair ends as the table says; nothing around its regions changes; no descriptor is lost.
 */
#include "descriptors.h"
#include "offer.h"
#include "raw_requester.h"

enum { PAGE = 4096, REGION = 8192, NO_EVENT = -1, PATIENCE_MS = 100 };

/* What the attacker saw: one of these, the status of a NAK, or 0 for another answer. */
enum { CLOSED = -1, NOTHING_IN_TIME = -2 };

static const struct scenario {
	const char *name;
	struct frame frame;
	bool in_region; /* remote_addr counts from the start of the region */
	bool knows_key; /* rkey is xor-ed with the region's */
	uint32_t sent;	/* of the header and the payload, if not all of both */
	bool ends;	/* and then the connection */
	int seen;
	enum ibv_qp_state state;
	int event;
	enum ibv_wc_status receive; /* of the oldest one, if the queue pair is in ERR */
} scenarios[] = {
#define FAILS(seen_, event_, receive_)                                                             \
	.seen = (seen_), .state = IBV_QPS_ERR, .event = (event_), .receive = (receive_)
#define INVALID FAILS(IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR, IBV_WC_WR_FLUSH_ERR)
#define DENIED FAILS(IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR)
#define HARMLESS(seen_) .seen = (seen_), .state = IBV_QPS_RTS, .event = NO_EVENT
#define AT_REGION .in_region = true, .knows_key = true
#define HALF(bytes) .sent = (bytes), .ends = true, HARMLESS(CLOSED)
	{"unknown operation", {.op = 99}, INVALID},
	{"second QP_OPEN", {.op = WIRE_QP_OPEN, .length = sizeof(struct qp_open)}, INVALID},
	{"answer without request", {.op = WIRE_READ_DATA, .length = 8, .total = 8}, INVALID},
	{"SEND with unknown flag", {.op = WIRE_SEND, .flags = 0x80, .length = 8}, INVALID},
	{"READ with unknown flag", {.op = WIRE_READ, .flags = 0x40, .total = 8}, AT_REGION, INVALID},
	{"READ with payload", {.op = WIRE_READ, .length = 8, .total = 8}, AT_REGION, INVALID},
	{"READ of more than a message", {.op = WIRE_READ, .total = (1u << 30) + 1}, AT_REGION, INVALID},
	{"READ beyond the region", {.op = WIRE_READ, .total = REGION + 1}, AT_REGION, DENIED},
	{"READ around the end of memory",
	 {.op = WIRE_READ, .remote_addr = -8ull, .total = 16}, .knows_key = true, DENIED},
	{"WRITE before the region", {.op = WIRE_WRITE, .length = 16, .remote_addr = -8ull}, AT_REGION, DENIED},
	{"WRITE with a guessed key", {.op = WIRE_WRITE, .length = 8, .rkey = -1u}, AT_REGION, DENIED},
	{"atomic without operands", {.op = WIRE_FETCH_ADD}, AT_REGION, INVALID},
	{"SEND longer than the receive",
	 {.op = WIRE_SEND, .length = 65}, FAILS(IBV_WC_REM_INV_REQ_ERR, NO_EVENT, IBV_WC_LOC_LEN_ERR)},
	{"half a SEND", {.op = WIRE_SEND, .length = 64}, HALF(sizeof(struct frame) + 10)},
	{"half of a SEND of 4 GiB", {.op = WIRE_SEND, .length = -1u}, HALF(sizeof(struct frame) + 100)},
	{"half a header", {.op = WIRE_SEND, .length = 64}, HALF(13)},
	{"request of the future", {.op = WIRE_WRITE, .seq = 1, .length = 8}, AT_REGION, HARMLESS(NOTHING_IN_TIME)},
	{"request of the past", {.op = WIRE_SEND, .seq = -1, .length = 8}, HARMLESS(NOTHING_IN_TIME)},
	{"second handshake", {.op = FRAME_HELLO, .length = sizeof(struct link_hello)}, HARMLESS(CLOSED)},
	{"endless control frame",
	 {.op = WIRE_FILE_REQUEST, .length = 0x80000000}, .sent = sizeof(struct frame) + 5000, HARMLESS(CLOSED)},
	{"question about no key", {.op = WIRE_FILE_REQUEST, .length = sizeof(struct wire_key) - 1}, INVALID},
	{"question about too many keys",
	 {.op = WIRE_FILE_REQUEST, .length = (WIRE_KEYS + 1) * sizeof(struct wire_key)}, INVALID},
	{"file of no region", {.op = WIRE_FILE_REQUEST, .length = sizeof(struct wire_key)}, HARMLESS(0)},
};

/* The reply brings a descriptor, which recv() drops. */
static int open_queue_pair(struct qp_open open, uint16_t status)
{
	int fd = raw_requester_connect(&open);
	struct frame reply;
	char rest[64];

	CHECK(raw_read_frame(fd, &reply, rest, sizeof(rest)));
	CHECK_EQUAL(reply.op, WIRE_QP_OPEN_REPLY);
	CHECK_EQUAL(reply.status, status);
	return fd;
}

/* Opens that are not the agreed one. */
static void expect_refused_opens(const struct offer *offer)
{
	const struct qp_open agreed = raw_requester_open(&offer->address);
	struct qp_open opens[] = {agreed, agreed, agreed, agreed};

	opens[0].source_qpn++;
	opens[1].destination_qpn ^= 0xff;
	opens[2].first_seq = 1;
	opens[3].qp_type = IBV_QPT_UC;
	for (unsigned int i = 0; i < COUNT_OF(opens); i++)
		close(open_queue_pair(opens[i], EAGAIN));
}

static void send_frame(int fd, const struct scenario *scenario, const struct offer *offer)
{
	static uint8_t bytes[1 << 16];
	struct frame frame = scenario->frame;

	if (scenario->in_region)
		frame.remote_addr += offer->addr;
	if (scenario->knows_key)
		frame.rkey ^= offer->rkey;
	memset(bytes, 0xff, sizeof(bytes));
	memcpy(bytes, &frame, sizeof(frame));
	CHECK(send(fd, bytes, scenario->sent ? scenario->sent : sizeof(frame) + frame.length, MSG_NOSIGNAL) > 0);
	if (scenario->ends)
		shutdown(fd, SHUT_WR);
}

static int observe(int fd)
{
	struct frame frame;
	char rest[256];

	if (!test_readable(fd, PATIENCE_MS))
		return NOTHING_IN_TIME;
	if (!raw_read_frame(fd, &frame, rest, sizeof(rest)))
		return CLOSED;
	return frame.op == WIRE_NAK ? frame.status : 0;
}

static void attack(int control)
{
	for (unsigned int i = 0; i < COUNT_OF(scenarios); i++) {
		struct offer offer;
		struct qp_open open;
		int fd, seen;

		test_receive(control, &offer, sizeof(offer));
		expect_refused_opens(&offer);
		open = raw_requester_open(&offer.address);
		fd = open_queue_pair(open, 0);
		/* The place is taken; the first one keeps it, though the other says that it is the same process. */
		open.requester[WIRE_REQUESTER_BYTES - 1] = 1;
		close(open_queue_pair(open, EAGAIN));
		send_frame(fd, &scenarios[i], &offer);
		seen = observe(fd);
		test_send(control, &seen, sizeof(seen));
		test_await(control);
		close(fd);
	}
}

static void suffer(int control, struct side *side, struct region *region, uint32_t rkey, const struct scenario *scenario)
{
	struct offer offer = {address_of(side), (uintptr_t)region->bytes + PAGE, rkey};
	int seen;

	fprintf(stderr, "%s\n", scenario->name);
	memset(region->bytes, 0xc5, region->length);
	connect_to_raw(side);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(post_receive(side->qp, i, sge_of(region, 0, 64)), 0);
	test_send(control, &offer, sizeof(offer));
	test_receive(control, &seen, sizeof(seen));
	CHECK_EQUAL(seen, scenario->seen);
	if (scenario->event != NO_EVENT)
		expect_async(side, scenario->event);
	expect_state(side->qp, scenario->state);
	if (scenario->state == IBV_QPS_ERR) {
		expect_completion(side->cq, 0, scenario->receive);
		expect_completion(side->cq, 1, IBV_WC_WR_FLUSH_ERR);
	}
	expect_no_completion(side->cq);
	CHECK(!test_readable(side->context->async_fd, 0));
	for (size_t i = 64; i < region->length; i++)
		CHECK_EQUAL(region->bytes[i], 0xc5);
	test_signal(control);
}

int main(void)
{
	struct test_peer peer = test_start_peer(attack);
	struct region *region;
	struct ibv_mr *middle;
	struct side side;
	int descriptors = 0;

	open_side(&side, 16, 16);
	region = add_region(&side, REGION + 2 * PAGE, IBV_ACCESS_LOCAL_WRITE);
	middle = softverbs_ibv_reg_mr(side.pd, region->bytes + PAGE, REGION, ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(middle);
	for (unsigned int i = 0; i < COUNT_OF(scenarios); i++) {
		suffer(peer.fd, &side, region, middle->rkey, &scenarios[i]);
		if (!i)
			descriptors = open_descriptors();
	}
	test_join_peer(&peer);
	expect_descriptors(descriptors);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(middle), 0);
	close_side(&side);
}
