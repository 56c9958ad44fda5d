/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two hosts: this process and its peer, each in a network namespace of its own, joined by one link. Both namespaces
 * and the link go away with the processes.
 */
#ifndef SHUFFLE_RDMA_HOSTS_FIXTURE_H
#define SHUFFLE_RDMA_HOSTS_FIXTURE_H

#include "test.h"

#include <sched.h>
#include <stdarg.h>

#define HOST_0_V4 "10.77.0.1"
#define HOST_1_V4 "10.77.0.2"
#define HOST_0_V6 "fd77::1"
#define HOST_1_V6 "fd77::2"
#define HOST_0_LINK_LOCAL "fe80::77:1"
#define HOST_1_LINK_LOCAL "fe80::77:2"
#define HOST_SECRET "of these two hosts"

static inline __attribute__((format(printf, 1, 2))) void hosts_run(const char *format, ...)
{
	char command[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	if (system(command)) {
		fprintf(stderr, "%s\n", command);
		CHECK(false);
	}
}

/* Leaves the host for an empty network namespace, in which addresses can be used at once. */
static inline void hosts_leave(void)
{
	FILE *file;

	if (geteuid())
		test_skip("network namespaces need root");
	if (system("ip -V >/dev/null 2>&1"))
		test_skip("no ip command (iproute2)");
	if (unshare(CLONE_NEWNET))
		test_skip("no network namespace can be made");
	file = fopen("/proc/sys/net/ipv6/conf/default/accept_dad", "w");
	if (!file)
		test_skip("no IPv6");
	fputs("0", file);
	CHECK(!fclose(file));
	hosts_run("ip link set lo up");
}

static inline void hosts_join(const char *v4, const char *v6, const char *link_local)
{
	hosts_run("ip link set wire addrgenmode none"); /* no other link-local address but ours */
	hosts_run("ip address add %s/24 dev wire", v4);
	hosts_run("ip address add %s/64 dev wire nodad", v6);
	hosts_run("ip address add %s/64 dev wire nodad", link_local);
	hosts_run("ip link set wire up");
}

static void (*hosts_body)(int fd);

static inline void hosts_peer(int fd)
{
	hosts_leave();
	test_rendezvous(fd);
	hosts_join(HOST_1_V4, HOST_1_V6, HOST_1_LINK_LOCAL);
	test_signal(fd);
	setenv("SOFTVERBS_SECRET", HOST_SECRET, 1);
	hosts_body(fd);
}

static inline void hosts_set_link(bool up)
{
	hosts_run("ip link set wire %s", up ? "up" : "down");
}

/* Host 0 is this process from here on, host 1 runs body(). The link is up, and both know HOST_SECRET. */
static inline struct test_peer hosts_start(void (*body)(int fd))
{
	struct test_peer peer;

	hosts_leave();
	hosts_body = body;
	peer = test_start_peer(hosts_peer);
	test_await(peer.fd);
	hosts_run("ip link add wire type veth peer name wire netns %d", (int)peer.pid);
	test_rendezvous(peer.fd);
	hosts_join(HOST_0_V4, HOST_0_V6, HOST_0_LINK_LOCAL);
	setenv("SOFTVERBS_SECRET", HOST_SECRET, 1);
	return peer;
}

/* What the link has carried, as its own counters say, both directions. */
static inline uint64_t hosts_link_bytes(void)
{
	unsigned long long received, sent;
	char line[512];
	FILE *file = fopen("/proc/self/net/dev", "r");

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " wire: %llu %*u %*u %*u %*u %*u %*u %*u %llu", &received, &sent) == 2) {
			fclose(file);
			return received + sent;
		}
	CHECK(!"a line for the link");
	return 0;
}

#endif
