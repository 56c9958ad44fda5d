/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two hosts in one test: this process and its peer, each in a network namespace of its own, joined by a veth pair;
 * 10.77.0.1 and fd77::1 here, 10.77.0.2 and fd77::2 there. Needs root; the namespaces go with the processes.
 */
#ifndef SHUFFLE_RDMA_TWO_HOSTS_H
#define SHUFFLE_RDMA_TWO_HOSTS_H

#include "test.h"

#include <sched.h>

static inline void run_command(const char *command)
{
	if (system(command)) {
		fprintf(stderr, "failed: %s\n", command);
		exit(1);
	}
}

/* In the new namespace, before the device is used. */
static inline void configure_host(int number)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "ip link set lo up && ip addr add 10.77.0.%d/24 dev veth%d && "
		 "ip -6 addr add fd77::%d/64 dev veth%d nodad && ip link set veth%d up",
		 number, number, number, number, number);
	run_command(command);
}

/* As test_start_peer(); body() starts when both hosts are up. The secret of both is in the environment. */
static inline struct test_peer start_host_peer(void (*body)(int fd))
{
	struct test_peer peer;
	char command[128];
	int fds[2];

	if (geteuid() || unshare(CLONE_NEWNET))
		test_skip("needs root for network namespaces");
	setenv("SOFTVERBS_SECRET", "of this test", 1);
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds));
	peer.pid = fork();
	CHECK(peer.pid >= 0);
	alarm(TEST_SECONDS);
	if (!peer.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		CHECK(!unshare(CLONE_NEWNET));
		test_signal(fds[1]);
		test_await(fds[1]);
		configure_host(2);
		test_signal(fds[1]);
		test_await(fds[1]);
		body(fds[1]);
		exit(0);
	}
	close(fds[1]);
	peer.fd = fds[0];
	test_await(peer.fd);
	snprintf(command, sizeof(command), "ip link add veth1 type veth peer name veth2 netns %d", (int)peer.pid);
	run_command(command);
	configure_host(1);
	test_signal(peer.fd);
	test_await(peer.fd);
	test_signal(peer.fd);
	return peer;
}

#endif
