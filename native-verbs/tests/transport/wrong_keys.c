/* SPDX-License-Identifier: Apache-2.0 */
/* Who guesses keys is soon not let in any more, while others are. */
#include "offer.h"
#include "transport/wrong_keys.h"

static const struct connection quick = {.timeout = 10, .retry_count = 1};

static void reconnect(struct side *side, const struct address *remote)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, IBV_QP_STATE), 0);
	connect_side(side, remote, &quick);
}

static void serve(int fd)
{
	struct side side;
	struct region region;
	struct offer offer;

	open_side(&side, 16, 16);
	region = create_region(side.pd, 4096, IBV_ACCESS_REMOTE_READ);
	offer = offer_of(&side, &region);
	for (;;) {
		struct address remote;

		test_receive(fd, &remote, sizeof(remote));
		if (!remote.qpn)
			break;
		reconnect(&side, &remote);
		test_send(fd, &offer, sizeof(offer));
	}
	destroy_region(&region);
	close_side(&side);
}

static struct ibv_wc read_with(int fd, struct side *side, struct region *sink, uint32_t key_change)
{
	struct address own = address_of(side);
	struct offer offer;

	test_send(fd, &own, sizeof(own));
	test_receive(fd, &offer, sizeof(offer));
	reconnect(side, &offer.address);
	CHECK_EQUAL(post_read(side->qp, 1, sink, 8, offer.addr, offer.rkey ^ key_change), 0);
	return wait_completion(side->cq);
}

static void guess(int fd)
{
	struct region sink;
	struct side side;

	open_side(&side, 16, 16);
	sink = create_region(side.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < WRONG_KEYS_PER_MINUTE; i++)
		CHECK_EQUAL(read_with(fd, &side, &sink, 1 + i).status, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQUAL(read_with(fd, &side, &sink, 0).status, IBV_WC_RETRY_EXC_ERR);
	destroy_region(&sink);
	close_side(&side);
}

static void readOnce(int fd)
{
	struct region sink;
	struct side side;

	open_side(&side, 16, 16);
	sink = create_region(side.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	CHECK_EQUAL(read_with(fd, &side, &sink, 0).status, IBV_WC_SUCCESS);
	destroy_region(&sink);
	close_side(&side);
}

int main(void)
{
	static const struct address nobody;
	struct test_peer peer = test_start_peer(serve);
	pid_t guesser = fork();
	int status;

	CHECK(guesser >= 0);
	if (!guesser) {
		guess(peer.fd);
		exit(0);
	}
	CHECK_EQUAL(waitpid(guesser, &status, 0), guesser);
	CHECK_EQUAL(status, 0);
	readOnce(peer.fd);
	test_send(peer.fd, &nobody, sizeof(nobody));
	test_join_peer(&peer);
}
