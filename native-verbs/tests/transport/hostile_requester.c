/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A requester that breaks the rules of the wire: the responder answers with a status, or closes, or ignores it; its queue
 * pair ends as the table says; nothing around its regions changes; no descriptor is lost.
 */
#include "descriptors.h"
#include "offer.h"
#include "raw_responder.h"

enum { PAGE = 4096, REGION = 8192, HIS_QPN = 0x432107, CLOSED = -1, NOTHING = -2, NO_EVENT = -1 };

/* What the attacker saw: CLOSED, NOTHING (until the time was over), the status of a NAK, or 0 for another answer. */
struct report {
	int seen;
};

static const uint8_t payload[1 << 17];

static void write_it(int fd, struct frame frame, uint32_t bytes)
{
	/* The other end may have closed already. */
	if (send(fd, &frame, sizeof(frame), MSG_NOSIGNAL) == sizeof(frame) && bytes)
		(void)!send(fd, payload, bytes, MSG_NOSIGNAL);
}

static int open_queue_pair(const struct offer *offer, struct qp_open open)
{
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(open)};
	int fd = raw_link_connect(offer->address.qpn >> 8);

	raw_link_shake_hands(fd, LINK_KIND_QP, raw_write_frame);
	CHECK(raw_write_frame(fd, &frame, &open));
	return fd;
}

static struct qp_open usual_open(const struct offer *offer)
{
	return (struct qp_open){.source_qpn = HIS_QPN,
				.destination_qpn = offer->address.qpn,
				.source_gid = offer->address.gid,
				.destination_gid = offer->address.gid,
				.qp_type = IBV_QPT_RC};
}

/* The reply brings a descriptor, which recv() drops. */
static uint16_t open_status(int fd)
{
	struct frame reply;
	char rest[64];

	CHECK(raw_read_frame(fd, &reply, rest, sizeof(rest)));
	CHECK_EQUAL(reply.op, WIRE_QP_OPEN_REPLY);
	return reply.status;
}

static void write_with_unknown_op(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = 99}, 0);
}

static void open_again(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = WIRE_QP_OPEN, .length = sizeof(struct qp_open)}, sizeof(struct qp_open));
}

static void answer_without_request(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = WIRE_READ_DATA, .length = 8, .total = 8}, 8);
}

static void send_with_unknown_flag(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = WIRE_SEND, .flags = 0x80, .length = 8}, 8);
}

static void read_with_unknown_flag(int fd, const struct offer *offer)
{
	write_it(fd, (struct frame){.op = WIRE_READ, .flags = 0x40, .remote_addr = offer->addr, .rkey = offer->rkey,
				    .total = 8},
		 0);
}

static void read_with_payload(int fd, const struct offer *offer)
{
	write_it(fd, (struct frame){.op = WIRE_READ, .length = 8, .remote_addr = offer->addr, .rkey = offer->rkey,
				    .total = 8},
		 8);
}

static void read_of_too_much(int fd, const struct offer *offer)
{
	write_it(fd, (struct frame){.op = WIRE_READ, .remote_addr = offer->addr, .rkey = offer->rkey,
				    .total = (1u << 30) + 1},
		 0);
}

static void read_beyond(int fd, const struct offer *offer)
{
	write_it(fd, (struct frame){.op = WIRE_READ, .remote_addr = offer->addr, .rkey = offer->rkey,
				    .total = REGION + 1},
		 0);
}

static void read_around_the_end(int fd, const struct offer *offer)
{
	write_it(fd, (struct frame){.op = WIRE_READ, .remote_addr = -8ull, .rkey = offer->rkey, .total = 16}, 0);
}

static void write_before(int fd, const struct offer *offer)
{
	write_it(fd, (struct frame){.op = WIRE_WRITE, .length = 16, .remote_addr = offer->addr - 8, .rkey = offer->rkey},
		 16);
}

static void write_with_guessed_key(int fd, const struct offer *offer)
{
	write_it(fd, (struct frame){.op = WIRE_WRITE, .length = 8, .remote_addr = offer->addr, .rkey = ~offer->rkey}, 8);
}

static void atomic_without_operands(int fd, const struct offer *offer)
{
	write_it(fd, (struct frame){.op = WIRE_FETCH_ADD, .remote_addr = offer->addr, .rkey = offer->rkey}, 0);
}

static void too_long_a_send(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = WIRE_SEND, .length = 65}, 65);
}

static void half_a_send(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = WIRE_SEND, .length = 64}, 10);
	shutdown(fd, SHUT_WR);
}

static void half_of_too_long_a_send(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = WIRE_SEND, .length = 0xffffffff}, 100);
	shutdown(fd, SHUT_WR);
}

static void half_a_header(int fd, const struct offer *offer)
{
	struct frame frame = {.op = WIRE_SEND, .length = 64};

	(void)offer;
	(void)!send(fd, &frame, 13, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
}

static void request_of_the_future(int fd, const struct offer *offer)
{
	write_it(fd, (struct frame){.op = WIRE_WRITE, .seq = 1, .length = 8, .remote_addr = offer->addr,
				    .rkey = offer->rkey},
		 8);
}

static void request_of_the_past(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = WIRE_SEND, .seq = -1, .length = 8}, 8);
}

static void handshake_again(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = FRAME_HELLO, .length = sizeof(struct raw_hello)}, sizeof(struct raw_hello));
}

static void endless_control_frame(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = WIRE_FILE_REQUEST, .length = 0x80000000}, 5000);
}

static void file_of_no_region(int fd, const struct offer *offer)
{
	(void)offer;
	write_it(fd, (struct frame){.op = WIRE_FILE_REQUEST, .rkey = 0xffffffff, .arg = 1}, 0);
}

static const struct scenario {
	const char *name;
	void (*attack)(int fd, const struct offer *offer);
	int seen;
	enum ibv_qp_state state;
	int event;
	enum ibv_wc_status receive; /* of the oldest one, if the queue pair is in ERR */
} scenarios[] = {
#define INVALID IBV_WC_REM_INV_REQ_ERR, IBV_QPS_ERR, IBV_EVENT_QP_REQ_ERR, IBV_WC_WR_FLUSH_ERR
#define DENIED IBV_WC_REM_ACCESS_ERR, IBV_QPS_ERR, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR
#define HARMLESS IBV_QPS_RTS, NO_EVENT, IBV_WC_SUCCESS
	{"unknown operation", write_with_unknown_op, INVALID},
	{"second QP_OPEN", open_again, INVALID},
	{"answer without request", answer_without_request, INVALID},
	{"SEND with unknown flag", send_with_unknown_flag, INVALID},
	{"READ with unknown flag", read_with_unknown_flag, INVALID},
	{"READ with payload", read_with_payload, INVALID},
	{"READ of more than a message", read_of_too_much, INVALID},
	{"READ beyond the region", read_beyond, DENIED},
	{"READ around the end of memory", read_around_the_end, DENIED},
	{"WRITE before the region", write_before, DENIED},
	{"WRITE with a guessed key", write_with_guessed_key, DENIED},
	{"atomic without operands", atomic_without_operands, INVALID},
	{"SEND longer than the receive", too_long_a_send, IBV_WC_REM_INV_REQ_ERR, IBV_QPS_ERR, NO_EVENT,
	 IBV_WC_LOC_LEN_ERR},
	{"half a SEND", half_a_send, CLOSED, HARMLESS},
	{"half of a SEND of 4 GiB", half_of_too_long_a_send, CLOSED, HARMLESS},
	{"half a header", half_a_header, CLOSED, HARMLESS},
	{"request of the future", request_of_the_future, NOTHING, HARMLESS},
	{"request of the past", request_of_the_past, NOTHING, HARMLESS},
	{"second handshake", handshake_again, CLOSED, HARMLESS},
	{"endless control frame", endless_control_frame, CLOSED, HARMLESS},
	{"file of no region", file_of_no_region, 0, HARMLESS},
};

enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]), PATIENCE_MS = 100 };

static struct report observe(int fd)
{
	struct frame frame;
	char rest[256];

	if (!test_readable(fd, PATIENCE_MS))
		return (struct report){NOTHING};
	if (!raw_read_frame(fd, &frame, rest, sizeof(rest)))
		return (struct report){CLOSED};
	return (struct report){frame.op == WIRE_NAK ? frame.status : 0};
}

static void expect_refused_open(const struct offer *offer, struct qp_open open)
{
	int fd = open_queue_pair(offer, open);

	CHECK_EQUAL(open_status(fd), EAGAIN);
	close(fd);
}

/* Before each attack: opens that are not the agreed one. */
static void refused_opens(const struct offer *offer)
{
	struct qp_open open = usual_open(offer);

	open.source_qpn++;
	expect_refused_open(offer, open);
	open = usual_open(offer);
	open.destination_qpn ^= 0xff;
	expect_refused_open(offer, open);
	open = usual_open(offer);
	open.first_seq = 1;
	expect_refused_open(offer, open);
	open = usual_open(offer);
	open.qp_type = IBV_QPT_UC;
	expect_refused_open(offer, open);
}

static void attack(int control)
{
	for (int i = 0; i < SCENARIOS; i++) {
		struct offer offer;
		struct report report;
		struct qp_open usurpation;
		int fd, usurper;

		test_receive(control, &offer, sizeof(offer));
		refused_opens(&offer);
		fd = open_queue_pair(&offer, usual_open(&offer));
		CHECK_EQUAL(open_status(fd), 0);
		/* The place is taken; the first one keeps it, though the other says that it is the same process. */
		usurpation = usual_open(&offer);
		usurpation.requester[WIRE_REQUESTER_BYTES - 1] = 1;
		usurper = open_queue_pair(&offer, usurpation);
		CHECK_EQUAL(open_status(usurper), EAGAIN);
		close(usurper);
		scenarios[i].attack(fd, &offer);
		report = observe(fd);
		test_send(control, &report, sizeof(report));
		test_await(control);
		close(fd);
	}
}

static void suffer(int control, struct side *side, struct region *region, uint32_t rkey, const struct scenario *scenario)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct address his = {.qpn = HIS_QPN};
	struct offer offer;
	struct report report;

	fprintf(stderr, "%s\n", scenario->name);
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &reset, IBV_QP_STATE), 0);
	memset(region->bytes, 0xc5, region->length);
	his.gid = address_of(side).gid;
	connect_side(side, &his, NULL);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(post_receive(side->qp, i, sge_of(region, 0, 64)), 0);
	offer = (struct offer){address_of(side), (uintptr_t)region->bytes + PAGE, rkey};
	test_send(control, &offer, sizeof(offer));
	test_receive(control, &report, sizeof(report));
	CHECK_EQUAL(report.seen, scenario->seen);
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
	struct region region;
	struct ibv_mr *middle;
	struct side side;
	int descriptors = 0;

	open_side(&side, 16, 16);
	region = create_region(side.pd, REGION + 2 * PAGE, IBV_ACCESS_LOCAL_WRITE);
	middle = softverbs_ibv_reg_mr(side.pd, region.bytes + PAGE, REGION, ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(middle);
	for (int i = 0; i < SCENARIOS; i++) {
		suffer(peer.fd, &side, &region, middle->rkey, &scenarios[i]);
		if (!i)
			descriptors = open_descriptors();
	}
	test_join_peer(&peer);
	expect_descriptors(descriptors);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(middle), 0);
	destroy_region(&region);
	close_side(&side);
}
