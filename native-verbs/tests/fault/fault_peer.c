/* SPDX-License-Identifier: Apache-2.0 */
/* A READ that kills its peer, or stops it: over the wire both end in retries, and the stopped one comes back. */
#include "fault_fixture.h"
#include "offer.h"

static const struct connection patient = {.timeout = 10, .retry_count = 1};

/* Serves one connection after the other, until the test closes its end. */
static void serve(int fd)
{
	struct side side;
	struct region region;
	struct address remote;

	open_side(&side, 16, 16);
	region = create_region(side.pd, 4096, ALL_REMOTE);
	memset(region.bytes, 0x55, 4096);
	while (read(fd, &remote, sizeof(remote)) == sizeof(remote)) {
		struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
		struct offer offer = offer_of(&side, &region);

		CHECK_EQUAL(softverbs_ibv_modify_qp(side.qp, &reset, IBV_QP_STATE), 0);
		connect_side(&side, &remote, NULL);
		test_send(fd, &offer, sizeof(offer));
	}
	destroy_region(&region);
	close_side(&side);
}

static void read_twice(struct test_peer *peer, enum ibv_wc_status second)
{
	struct offer offer;
	struct region sink;
	struct side side;

	open_side(&side, 16, 16);
	sink = create_region(side.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	offer = accept_offer(peer->fd, &side, &patient);
	for (int i = 1; i <= 2; i++) {
		CHECK_EQUAL(post_read(side.qp, i, &sink, 64, offer.addr, offer.rkey), 0);
		expect_completion(side.cq, i, i == 2 ? second : IBV_WC_SUCCESS);
	}
	destroy_region(&sink);
	close_side(&side);
}

static void peerIsKilled(void)
{
	struct test_peer peer = test_start_peer(serve);
	int status;

	read_twice(&peer, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQUAL(waitpid(peer.pid, &status, 0), peer.pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void peerIsStopped(void)
{
	struct test_peer peer = test_start_peer(serve);
	int status;

	read_twice(&peer, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQUAL(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
	CHECK(WIFSTOPPED(status));
	CHECK(!kill(peer.pid, SIGCONT));
	read_twice(&peer, IBV_WC_SUCCESS);
	shutdown(peer.fd, SHUT_WR);
	test_join_peer(&peer);
}

static const struct fault_case cases[] = {
	{"read:killpeer,nth=2", peerIsKilled, "wire"},
	{"read:stoppeer,nth=2", peerIsStopped, "wire"},
};

int main(int argc, char **argv)
{
	return RUN_FAULT_CASES(cases);
}
