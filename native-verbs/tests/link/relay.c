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

enum { BYTES = 4096 };

/* Outside of what the kernel chooses by itself. */
#define THE_PORT "29301-29301"

static const struct connection quick = {.timeout = 10, .retry_count = 1};

struct plan {
	uint32_t dead_qpn, server_qpn;
	pid_t server;
};

/* Memory that the adversary reports in. */
static struct report {
	_Atomic int connections, frames;
} *report;

static struct plan plan;
static bool apart; /* the server has a network namespace of its own */

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
	struct region region;

	if (apart)
		CHECK(!unshare(CLONE_NEWNET) && !system("ip link set lo up"));
	become_honest(true);
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

/* An accomplice there would do the same. */
static int connect_in_its_network(void)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), its, link;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)plan.server);
	its = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(own >= 0 && its >= 0 && !setns(its, CLONE_NEWNET));
	link = raw_link_connect(plan.server_qpn >> 8);
	CHECK(!setns(own, CLONE_NEWNET));
	return link;
}

static void relay(int fd)
{
	int listener, there = -1;

	test_receive(fd, &plan, sizeof(plan));
	if (apart)
		there = connect_in_its_network();
	become_adversary();
	listener = adversary_listen(plan.dead_qpn >> 8, "", SOCK_STREAM);
	test_signal(fd);
	for (;;) {
		int client = accept(listener, NULL, NULL);

		CHECK(client >= 0);
		report->connections++;
		if (!apart)
			there = raw_link_connect(plan.server_qpn >> 8);
		if (there >= 0)
			adversary_relay(client, there, look);
		else
			close(client);
		there = -1;
	}
}

static void try(void)
{
	struct test_peer dying = test_start_peer(die_when_told), server = test_start_peer(serve), adversary;
	struct region sink;
	struct address own, dead;
	struct offer offer;
	struct side side;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(report != MAP_FAILED);
	adversary = test_start_peer(relay);
	become_honest(false);
	open_side(&side, 16, 16);
	sink = create_region(side.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	test_receive(dying.fd, &dead, sizeof(dead));
	own = address_of(&side);
	test_send(server.fd, &own, sizeof(own));
	test_receive(server.fd, &offer, sizeof(offer));
	test_kill_peer(&dying);
	plan = (struct plan){dead.qpn, offer.address.qpn, server.pid};
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
}

int main(void)
{
	test_run_apart(try);
	apart = true;
	if (!geteuid())
		test_run_apart(try);
}
