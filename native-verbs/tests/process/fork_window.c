/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that forks while its connections come and go: no child keeps one of their sockets, which would hide from the peers that
 * the parent has ended, and hold its name.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "descriptors.h"
#include "softdev_fixture.h"

enum { FORKS = 400, FORKING_MS = 20000, BYTES = 64 };

static atomic_bool enough;

static void connect_once(void)
{
	struct pair pair;

	open_pair_as(&pair, &(struct pair_setup){0});
	pair_run(&pair, IBV_WR_RDMA_READ, 1, BYTES, IBV_WC_SUCCESS);
	close_pair(&pair);
}

static void *connect_again_and_again(void *unused)
{
	while (!enough)
		connect_once();
	return unused;
}

int main(void)
{
	int before = open_sockets(); /* what the test was started with */
	uint64_t end;
	pthread_t thread;

	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_PATH", "wire", 1);
	connect_once(); /* the C library asks for the addresses of the host by a socket of its own */
	CHECK_EQUAL(pthread_create(&thread, NULL, connect_again_and_again, NULL), 0);
	end = test_now_ms() + FORKING_MS; /* a busy machine gets fewer of them done */
	for (int i = 0; i < FORKS && test_now_ms() < end; i++) {
		pid_t pid = test_fork();

		if (!pid)
			_exit(open_sockets() == before ? 0 : 1);
		test_join(pid);
	}
	enough = true;
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	return 0;
}
