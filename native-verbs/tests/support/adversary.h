/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that knows no secret and stands between two that do: it holds the name of one that has died, and passes on
 * what it hears. Where root runs the test the adversary is another user.
 */
#ifndef SHUFFLE_RDMA_TEST_ADVERSARY_H
#define SHUFFLE_RDMA_TEST_ADVERSARY_H

#include <sys/mman.h>

#include "raw_responder.h"
#include "users.h"

#define HONEST_SECRET "of the honest processes alone"

enum { ADVERSARY = 4711 };

static inline void become_adversary(void)
{
	if (!geteuid())
		become_user(ADVERSARY);
}

/* A socket with the name that belonged to the dead process. */
static inline int adversary_listen(uint16_t port)
{
	struct sockaddr_un name;
	socklen_t length = raw_name(port, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK(!bind(fd, (struct sockaddr *)&name, length));
	CHECK(!listen(fd, 16));
	return fd;
}

/* Passes on what waits at `from`, perhaps changed, and counts it; `to_server` is true if `from` is the end that connected. */
typedef bool adversary_pass(int from, int to, bool to_server);

/* Until either end hangs up. Descriptors do not pass. */
static inline void adversary_relay(int client, int server, adversary_pass *pass)
{
	struct pollfd ends[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
	bool goes_on = true;

	while (goes_on && poll(ends, 2, -1) > 0)
		for (int i = 0; i < 2 && goes_on; i++)
			if (ends[i].revents)
				goes_on = pass(ends[i].fd, ends[1 - i].fd, i == 0);
	close(client);
	close(server);
}

/* Memory for what the adversary counts, which the test sees as well. */
static inline void *adversary_report(size_t bytes)
{
	void *report = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(report != MAP_FAILED);
	return report;
}

/* Kills `dying`, and returns when body() has taken its name. The variables that body() reads must have been set before. */
static inline struct test_peer start_adversary(struct test_peer *dying, void (*body)(int fd))
{
	struct test_peer adversary;

	test_kill_peer(dying);
	adversary = test_start_peer(body);
	test_await(adversary.fd);
	return adversary;
}

#endif
