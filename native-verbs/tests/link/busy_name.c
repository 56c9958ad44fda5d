/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports whose unix names somebody else holds are passed over, and nothing of them stays: neither a descriptor nor a listener
 * that takes the TCP links of the port that is used in the end. Nobody can take the name of that one.
 */
#include "descriptors.h"
#include "raw_responder.h"
#include "softdev_fixture.h"

enum { FIRST_PORT = 41200, HELD = 30, RANGE = 60, BYTES = 4096, DESCRIPTORS = 30 };

/* False if somebody else has it. */
static bool hold_name(uint16_t port)
{
	struct sockaddr_un name;
	socklen_t length = raw_name(port, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	if (!bind(fd, (struct sockaddr *)&name, length))
		return true;
	CHECK_EQUAL(errno, EADDRINUSE);
	close(fd);
	return false;
}

static void hold_names(void)
{
	for (int port = FIRST_PORT; port < FIRST_PORT + HELD; port++)
		hold_name(port);
}

int main(void)
{
	struct pair pair;
	char range[32];
	int before;

	alarm(TEST_SECONDS);
	snprintf(range, sizeof(range), "%d-%d", FIRST_PORT, FIRST_PORT + RANGE);
	setenv("SOFTVERBS_PORT_RANGE", range, 1);
	setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
	setenv("SOFTVERBS_PATH", "tcp", 1);
	hold_names();
	before = open_descriptors();
	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	CHECK(pair.a.qp->qp_num >> 8 >= FIRST_PORT + HELD);
	CHECK(!hold_name(pair.a.qp->qp_num >> 8));
	pair.remote->bytes[BYTES - 1] = 9;
	pair_run(&pair, IBV_WR_RDMA_READ, 1, BYTES, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair.local->bytes[BYTES - 1], 9);
	CHECK(open_descriptors() - before < DESCRIPTORS);
	close_pair(&pair);
}
