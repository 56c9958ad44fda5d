/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adversary without the secret holds the name of a process that has died and passes the handshake of one honest process on to
 * another honest one. Neither takes the other's proof for its own: no frame of a queue pair crosses, and nothing is READ.
 */
#include "adversary.h"
#include "offer.h"

enum { BYTES = 4096 };

static const struct connection quick = {.timeout = 10, .retry_count = 1};

struct plan {
	uint32_t dead_qpn, server_qpn;
};

/* Memory that the adversary reports in. */
static struct report {
	_Atomic int connections, frames;
} *report;

static struct plan plan;

static void die_when_told(int fd)
{
	struct address address;
	struct side side;

	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	open_side(&side, 16, 16);
	address = address_of(&side);
	test_send(fd, &address, sizeof(address));
	test_await(fd);
}

static void serve(int fd)
{
	struct side side;
	struct region region;

	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	open_side(&side, 16, 16);
	region = create_region(side.pd, BYTES, IBV_ACCESS_REMOTE_READ);
	memset(region.bytes, 17, BYTES);
	offer_region(fd, &side, &region, NULL);
	test_await(fd);
	destroy_region(&region);
	close_side(&side);
}

static void look(struct frame *frame, void *payload, bool to_server)
{
	struct qp_open *open = payload;

	if (frame->op >= FRAME_OP_USER)
		report->frames++;
	if (to_server && frame->op == WIRE_QP_OPEN)
		open->destination_qpn = plan.server_qpn;
}

static void relay(int fd)
{
	int listener;

	become_adversary();
	test_receive(fd, &plan, sizeof(plan));
	listener = adversary_listen(plan.dead_qpn >> 8, "", SOCK_STREAM);
	test_signal(fd);
	for (;;) {
		int client = accept(listener, NULL, NULL);

		CHECK(client >= 0);
		report->connections++;
		adversary_relay(client, raw_link_connect(plan.server_qpn >> 8), look);
	}
}

int main(void)
{
	struct test_peer dying = test_start_peer(die_when_told), server = test_start_peer(serve), adversary;
	struct region sink;
	struct address own, dead;
	struct offer offer;
	struct side side;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(report != MAP_FAILED);
	adversary = test_start_peer(relay);
	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	open_side(&side, 16, 16);
	sink = create_region(side.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	test_receive(dying.fd, &dead, sizeof(dead));
	own = address_of(&side);
	test_send(server.fd, &own, sizeof(own));
	test_receive(server.fd, &offer, sizeof(offer));
	test_kill_peer(&dying);
	plan = (struct plan){dead.qpn, offer.address.qpn};
	test_send(adversary.fd, &plan, sizeof(plan));
	test_await(adversary.fd);
	connect_side(&side, &dead, &quick);
	CHECK_EQUAL(post_read(side.qp, 1, &sink, BYTES, offer.addr, offer.rkey), 0);
	expect_completion(side.cq, 1, IBV_WC_RETRY_EXC_ERR);
	CHECK(report->connections > 0);
	CHECK_EQUAL(report->frames, 0);
	CHECK_EQUAL(sink.bytes[0], 0);
	test_kill_peer(&adversary);
	test_signal(server.fd);
	test_join_peer(&server);
	destroy_region(&sink);
	close_side(&side);
	return 0;
}
