/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adversary without the secret holds the name of a process that has died and passes the handshake of one honest process on to
 * another honest one, of the same network namespace or of another one where the name is the same. Neither takes the other's proof for
 * its own: no frame of a queue pair crosses, and nothing is READ.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>

#include "adversary.h"
#include "offer.h"

enum { BYTES = 4096, MAX_PAYLOAD = 1 << 16 };

/* Outside of what the kernel chooses by itself. */
#define THE_PORT "29301-29301"

static const struct connection quick = {.timeout = 10, .retry_count = 1};

static uint32_t dead_qpn, server_qpn;
static struct test_peer server;
static bool apart; /* the server has a network namespace of its own */

static struct report {
	_Atomic int connections, frames;
} *report;

static void become_honest(bool has_the_port)
{
	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	if (!apart)
		return;
	setenv("SOFTVERBS_ADDRESS", "127.0.0.1", 1);
	if (has_the_port)
		setenv("SOFTVERBS_PORT_RANGE", THE_PORT, 1);
}

static void die_when_told(int fd)
{
	struct address address;
	struct side side;

	become_honest(true);
	open_side(&side, 16, 16);
	address = address_of(&side);
	test_send(fd, &address, sizeof(address));
	test_await(fd);
}

static void serve(int fd)
{
	struct side side;
	struct region *region;

	if (apart)
		CHECK(!unshare(CLONE_NEWNET) && !system("ip link set lo up"));
	become_honest(true);
	open_side(&side, 16, 16);
	test_send(fd, &side.qp->qp_num, sizeof(side.qp->qp_num));
	region = add_region(&side, BYTES, IBV_ACCESS_REMOTE_READ);
	memset(region->bytes, 17, BYTES);
	offer_region(fd, &side, region, NULL);
	test_await(fd);
	close_side(&side);
}

static bool pass(int from, int to, bool to_server)
{
	static uint8_t payload[MAX_PAYLOAD];
	struct qp_open *open = (struct qp_open *)payload;
	struct frame frame;

	if (!raw_read_frame(from, &frame, payload, sizeof(payload)))
		return false;
	CHECK(frame.length <= sizeof(payload));
	if (frame.op >= FRAME_OP_USER)
		report->frames++;
	if (to_server && frame.op == WIRE_QP_OPEN)
		open->destination_qpn = server_qpn;
	return raw_write_frame(to, &frame, payload);
}

/* An accomplice there would do the same. */
static int connect_in_its_network(void)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), its, link;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)server.pid);
	its = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(own >= 0 && its >= 0 && !setns(its, CLONE_NEWNET));
	link = raw_link_connect(server_qpn >> 8);
	CHECK(!setns(own, CLONE_NEWNET));
	return link;
}

static void relay(int fd)
{
	int listener, there = apart ? connect_in_its_network() : -1;

	become_adversary();
	listener = adversary_listen(dead_qpn >> 8);
	test_signal(fd);
	for (;;) {
		int client = accept(listener, NULL, NULL);

		CHECK(client >= 0);
		report->connections++;
		if (!apart)
			there = raw_link_connect(server_qpn >> 8);
		if (there >= 0)
			adversary_relay(client, there, pass);
		else
			close(client);
		there = -1;
	}
}

static void try(void)
{
	struct test_peer dying = test_start_peer(die_when_told), adversary;
	struct region *sink;
	struct address own, dead;
	struct offer offer;
	struct side side;

	server = test_start_peer(serve);
	report = adversary_report(sizeof(*report));
	test_receive(dying.fd, &dead, sizeof(dead));
	dead_qpn = dead.qpn;
	test_receive(server.fd, &server_qpn, sizeof(server_qpn));
	adversary = start_adversary(&dying, relay);
	become_honest(false);
	open_side(&side, 16, 16);
	sink = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	own = address_of(&side);
	test_send(server.fd, &own, sizeof(own));
	test_receive(server.fd, &offer, sizeof(offer));
	connect_side(&side, &dead, &quick);
	read_and_expect(&side, 1, sink, BYTES, offer.addr, offer.rkey, IBV_WC_RETRY_EXC_ERR);
	CHECK(report->connections > 0);
	CHECK_EQUAL(report->frames, 0);
	CHECK_EQUAL(sink->bytes[0], 0);
	test_kill_peer(&adversary);
	test_finish_peer(&server);
	close_side(&side);
}

int main(void)
{
	test_run_apart(try);
	apart = true;
	if (!geteuid())
		test_run_apart(try);
}
