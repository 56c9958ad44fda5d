/* SPDX-License-Identifier: Apache-2.0 */
/* Two hosts behind two interfaces have the same link-local address: the one that guesses keys is refused, the other is not. */
#define _GNU_SOURCE
#include "offer.h"
#include "transport/wrong_keys.h"

#include "hosts_fixture.h"

#include <arpa/inet.h>

#define THEIR_ADDRESS "fe80::77:2"

enum { HOSTS = 2, LAST = -1 };

static const char *const our_addresses[HOSTS] = {"fe80::77:1", "fe80::77:3"};
static const struct connection quick = {.timeout = 10, .retry_count = 1};

static void join(const char *interface, const char *address)
{
	hosts_run("ip link set %s addrgenmode none", interface);
	hosts_run("ip address add %s/64 dev %s nodad", address, interface);
	hosts_run("ip link set %s up", interface);
}

/* A host that READs with the key changed as it is told, and tells how that ended. */
static void ask(int fd)
{
	struct region *sink;
	struct side side;

	hosts_leave();
	test_rendezvous(fd);
	join("wire", THEIR_ADDRESS);
	setenv("SOFTVERBS_SECRET", HOST_SECRET, 1);
	open_side(&side, 16, 16);
	sink = add_region(&side, 4096, IBV_ACCESS_LOCAL_WRITE);
	for (;;) {
		struct address own = address_of(&side);
		struct offer offer;
		struct ibv_wc wc;
		int key_change;

		test_send(fd, &own, sizeof(own));
		test_receive(fd, &key_change, sizeof(key_change));
		if (key_change == LAST)
			break;
		test_receive(fd, &offer, sizeof(offer));
		reconnect_side(&side, &offer.address, &quick);
		CHECK_EQUAL(post_read(side.qp, 1, sink, 8, offer.addr, offer.rkey ^ (uint32_t)key_change), 0);
		wc = wait_completion(side.cq);
		test_send(fd, &wc.status, sizeof(wc.status));
	}
	close_side(&side);
}

static enum ibv_wc_status status_of_read(struct side *side, const struct region *region, const struct test_peer *peers,
					 int host, int key_change)
{
	struct offer offer = offer_of(side, region);
	enum ibv_wc_status status;
	struct address remote;

	CHECK_EQUAL(inet_pton(AF_INET6, our_addresses[host], &offer.address.gid), 1);
	test_receive(peers[host].fd, &remote, sizeof(remote));
	reconnect_side(side, &remote, &quick);
	test_send(peers[host].fd, &key_change, sizeof(key_change));
	test_send(peers[host].fd, &offer, sizeof(offer));
	test_receive(peers[host].fd, &status, sizeof(status));
	return status;
}

int main(void)
{
	static const int last = LAST;
	struct test_peer peers[HOSTS];
	struct region *region;
	struct side side;

	hosts_leave();
	for (int i = 0; i < HOSTS; i++) {
		peers[i] = test_start_peer(ask);
		test_await(peers[i].fd);
		hosts_run("ip link add wire%d type veth peer name wire netns %d", i, (int)peers[i].pid);
		join(i ? "wire1" : "wire0", our_addresses[i]);
		test_signal(peers[i].fd);
	}
	setenv("SOFTVERBS_SECRET", HOST_SECRET, 1);
	open_side(&side, 16, 16);
	region = add_region(&side, 4096, IBV_ACCESS_REMOTE_READ);
	for (int i = 0; i < WRONG_KEYS_PER_MINUTE; i++)
		CHECK_EQUAL(status_of_read(&side, region, peers, 0, 1 + i), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQUAL(status_of_read(&side, region, peers, 0, 0), IBV_WC_RETRY_EXC_ERR);
	CHECK_EQUAL(status_of_read(&side, region, peers, 1, 0), IBV_WC_SUCCESS);
	for (int i = 0; i < HOSTS; i++) {
		test_send(peers[i].fd, &last, sizeof(last));
		test_join_peer(&peers[i]);
	}
	close_side(&side);
}
