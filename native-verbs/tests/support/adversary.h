/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that knows no secret and stands between two that do: it holds the name of one that has died, and passes on
 * what it hears. Where root runs the test the adversary is another user.
 */
#ifndef SHUFFLE_RDMA_TEST_ADVERSARY_H
#define SHUFFLE_RDMA_TEST_ADVERSARY_H

#include "raw_responder.h"
#include "users.h"

#define HONEST_SECRET "of the honest processes alone"

enum { ADVERSARY = 4711, ADVERSARY_BYTES = 1 << 16 };

static inline void become_adversary(void)
{
	if (!geteuid())
		become_user(ADVERSARY);
}

/* A socket with the name that belonged to the dead process. */
static inline int adversary_listen(uint16_t port, const char *suffix, int type)
{
	struct sockaddr_un name;
	socklen_t length = raw_link_name(port, &name);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	memcpy((char *)&name + length, suffix, strlen(suffix));
	CHECK(!bind(fd, (struct sockaddr *)&name, length + strlen(suffix)));
	CHECK(!listen(fd, 16));
	return fd;
}

/* May change a frame, and counts what it is worth; to_server: from who connected. */
typedef void adversary_look(struct frame *frame, void *payload, bool to_server);

static inline bool adversary_pass_frame(int from, int to, bool to_server, adversary_look *look)
{
	static uint8_t payload[ADVERSARY_BYTES];
	struct frame frame;

	if (!raw_read_frame(from, &frame, payload, sizeof(payload)))
		return false;
	CHECK(frame.length <= sizeof(payload));
	look(&frame, payload, to_server);
	return raw_write_frame(to, &frame, payload);
}

/* Until either end hangs up. Descriptors do not pass. */
static inline void adversary_relay(int client, int server, adversary_look *look)
{
	struct pollfd ends[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
	bool goes_on = true;

	while (goes_on && poll(ends, 2, -1) > 0)
		for (int i = 0; i < 2 && goes_on; i++)
			if (ends[i].revents)
				goes_on = adversary_pass_frame(ends[i].fd, ends[1 - i].fd, i == 0, look);
	close(client);
	close(server);
}

#endif
