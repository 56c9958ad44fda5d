/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A READ of a file whose disk has stopped waits, on whatever path, and nothing else does: neither at the reader nor at the owner
 * do other connections, rdma_cm, a fork or the end of another queue pair wait for it. The same if the file is another user's, of
 * which the kernel does not tell what is in memory. The end of the queue pair itself, and that of the region it writes to, are
 * refused for as long as the READ waits.
 */
#define _GNU_SOURCE
#include "cm_fixture.h"
#include "offer.h"
#include "slow_file.h"

enum { BYTES = 65536, WRITES = 20, SOMEBODY = 4711 };

static uint8_t bytes[SLOW_BYTES];
static struct slow_file file;
static bool is_foreign, ends_early;

/* Until the process ends, for the leak sanitizer then needs the rights that it has begun with. */
static void be_somebody(bool somebody)
{
	if (is_foreign)
		CHECK(!seteuid(somebody ? SOMEBODY : 0));
}

static struct region map_slow_file(struct ibv_pd *pd)
{
	struct region region = {.length = SLOW_BYTES, .fd = open(file.path, O_RDONLY | O_CLOEXEC)};
	struct stat about;

	CHECK(!fstat(region.fd, &about)); /* or the kernel does not know yet how long it is */
	region.bytes = mmap(NULL, SLOW_BYTES, PROT_READ, MAP_SHARED, region.fd, 0);
	CHECK(region.bytes != MAP_FAILED);
	region.mr = test_path_is("cma") ? softverbs_ibv_reg_mr(pd, region.bytes, SLOW_BYTES, IBV_ACCESS_REMOTE_READ)
					: softverbs_reg_file_mr(pd, region.bytes, SLOW_BYTES, region.fd, 0, IBV_ACCESS_REMOTE_READ);
	CHECK(region.mr);
	return region;
}

static void live_on(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	uint16_t port;
	struct rdma_cm_id *listener = cm_listen_on(channel, CM_LOOPBACK, 1, &port), *active = cm_ask(channel, CM_LOOPBACK, port),
			  *passive = cm_take_request(channel, NULL);
	pid_t child = test_fork();

	if (!child)
		_exit(0);
	test_join(child);
	cm_accept(passive);
	cm_take(channel, RDMA_CM_EVENT_ESTABLISHED);
	cm_take(channel, RDMA_CM_EVENT_ESTABLISHED);
	cm_close_all(channel, active, passive, listener);
}

static void serve(int fd)
{
	struct side slow, quick;

	open_side(&slow, 16, 16);
	open_side(&quick, 16, 16);
	offer_region(fd, &slow, keep_region(&slow, map_slow_file(slow.pd)), NULL);
	offer_region(fd, &quick, add_region(&quick, BYTES, ALL_REMOTE), NULL);
	test_await(fd);
	live_on();
	close_side(&quick);
	test_rendezvous(fd);
	close_side(&slow);
	be_somebody(false);
}

static void write_to(struct side *side, const struct region *source, const struct offer *offer)
{
	for (int i = 0; i < WRITES; i++) {
		CHECK_EQUAL(post(side->qp, IBV_WR_RDMA_WRITE, i, sge_of(source, 0, BYTES), offer->addr, offer->rkey), 0);
		expect_completion(side->cq, i, IBV_WC_SUCCESS);
	}
}

struct pending_read {
	const struct side *side;
	const struct region *sink;
	const struct offer *offer;
};

/* A thread that posts reads the owner's memory by itself if it may, and then waits for the disk. */
static void *post_pending(void *of)
{
	const struct pending_read *read = of;

	CHECK_EQUAL(post_read(read->side->qp, 1, read->sink, BYTES, read->offer->addr, read->offer->rkey), 0);
	return NULL;
}

static void end_while_it_waits(const struct side *side, const struct region *sink)
{
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, IBV_QP_STATE), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side->qp), EBUSY);
	CHECK_EQUAL(softverbs_ibv_rereg_mr(sink->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
		    IBV_REREG_MR_ERR_CMD);
	CHECK_EQUAL(errno, EBUSY);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(sink->mr), EBUSY);
}

static void body(void)
{
	struct offer offer, quick_offer;
	struct region *sink, *source;
	struct side slow, quick;
	struct pending_read pending;
	struct test_peer peer;
	pthread_t poster;

	for (int i = 0; i < SLOW_BYTES; i++)
		bytes[i] = i * 31 + (i >> 8);
	file = slow_file_create(bytes);
	be_somebody(true);
	peer = test_start_peer(serve);
	open_side(&slow, 16, 16);
	open_side(&quick, 16, 16);
	sink = add_region(&slow, BYTES, IBV_ACCESS_LOCAL_WRITE);
	source = add_region(&quick, BYTES, IBV_ACCESS_LOCAL_WRITE);
	offer = accept_offer(peer.fd, &slow, &(struct connection){.no_timeout = true});
	quick_offer = accept_offer(peer.fd, &quick, NULL);
	write_to(&quick, source, &quick_offer);
	pending = (struct pending_read){&slow, sink, &offer};
	CHECK(!pthread_create(&poster, NULL, post_pending, &pending));
	slow_file_await_reader(&file);
	write_to(&quick, source, &quick_offer);
	live_on();
	close_side(&quick);
	test_rendezvous(peer.fd);
	expect_no_completion(slow.cq);
	if (ends_early)
		end_while_it_waits(&slow, sink);
	slow_file_go_on(&file);
	CHECK(!pthread_join(poster, NULL));
	expect_completion(slow.cq, 1, ends_early ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
	CHECK(ends_early || !memcmp(sink->bytes, bytes, BYTES));
	test_finish_peer(&peer);
	close_side(&slow);
	be_somebody(false);
	slow_file_remove(&file);
}

int main(void)
{
	on_each_path(body);
	ends_early = !test_device();
	setenv("SOFTVERBS_PATH", "file", 1);
	test_run_apart(body);
	setenv("SOFTVERBS_PATH", "cma", 1);
	test_run_apart(body);
	ends_early = false;
	if (geteuid())
		return 0;
	is_foreign = true;
	setenv("SOFTVERBS_PATH", "wire", 1); /* on which the owner of the memory reads it */
	test_run_apart(body);
}
