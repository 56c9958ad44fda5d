/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that the program has cancelled ends in the wait for an event, before it takes one, and nowhere else in the
 * device: a call of rdma_cm is brought to its end, and a request that was posted completes. Others may go on using it all.
 */
#include "cm_fixture.h"
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

/* The address sanitizer does not see that a cancelled thread leaves its functions, and takes their stack for theirs still. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "use_sigaltstack=0";
}

static atomic_bool went_on;

static void run_cancelled(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	void *result;

	atomic_store(&went_on, false);
	CHECK(!pthread_create(&thread, NULL, body, argument));
	CHECK(!pthread_join(thread, &result));
	CHECK(result == PTHREAD_CANCELED);
}

static void *bind_an_id(void *id)
{
	struct sockaddr_storage any = cm_address("127.0.0.1", 0);

	pthread_cancel(pthread_self());
	CHECK(!softverbs_rdma_bind_addr(id, (struct sockaddr *)&any));
	atomic_store(&went_on, true);
	pthread_testcancel();
	return NULL;
}

static void *wait_for_event(void *channel)
{
	struct rdma_cm_event *event;

	pthread_cancel(pthread_self());
	softverbs_rdma_get_cm_event(channel, &event);
	atomic_store(&went_on, true);
	return NULL;
}

static void connection_manager(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id;

	for (int i = 0; i < 20; i++) {
		id = cm_id_open(channel);
		run_cancelled(bind_an_id, id);
		CHECK(atomic_load(&went_on));
		CHECK(softverbs_rdma_get_src_port(id));
		CHECK(!softverbs_rdma_destroy_id(id));
	}
	id = cm_id_open(channel);
	run_cancelled(wait_for_event, channel); /* there is none */
	CHECK(!atomic_load(&went_on));
	cm_request_address(id, CM_LOOPBACK, htons(4000));
	run_cancelled(wait_for_event, channel);
	CHECK(!atomic_load(&went_on));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	CHECK(!softverbs_rdma_destroy_id(id));
	softverbs_rdma_destroy_event_channel(channel);
}

static struct pair pair;

static void *read_remote(void *unused)
{
	(void)unused;
	pthread_cancel(pthread_self());
	pair_post(&pair, IBV_WR_RDMA_READ, 1, 4096);
	atomic_store(&went_on, true);
	pthread_testcancel();
	return NULL;
}

/* Armed, so that the thread that posts raises the event where there are short cuts. */
static void reads(void)
{
	open_pair_as(&pair, &(struct pair_setup){0});
	for (int i = 0; i < 20; i++) {
		CHECK_EQUAL(ibv_req_notify_cq(pair.a.cq, 0), 0);
		run_cancelled(read_remote, NULL);
		CHECK(atomic_load(&went_on));
		take_cq_event(pair.a.channel);
		expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	}
	close_pair(&pair);
}

int main(void)
{
	test_run_apart(connection_manager);
	on_each_path(reads);
}
