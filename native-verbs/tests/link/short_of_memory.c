/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out on the progress thread, once, at one place after the other: for a frame, which ends the connection, and in
 * the kernel for a socket that is to be watched, which is tried again. No request waits for ever, though its timeout says so.
 */
#define _GNU_SOURCE
#include "softdev_fixture.h"

#include <stdatomic.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

enum { PLACES = 6, LIMIT_MS = 1500 };

static _Thread_local bool is_spared;
static atomic_int mallocs_left, watches_left; /* until one fails; 0: none does */

static bool is_the_one(atomic_int *left)
{
	return !is_spared && atomic_load(left) > 0 && atomic_fetch_sub(left, 1) == 1;
}

/* In place of those of the C library. The sanitizer has its own malloc. */
#ifdef __SANITIZE_ADDRESS__
enum { OUR_MALLOC = false };
#else
enum { OUR_MALLOC = true };

void *__libc_malloc(size_t size);

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	if (!is_the_one(&mallocs_left))
		return __libc_malloc(size);
	errno = ENOMEM;
	return NULL;
}
#endif

__attribute__((visibility("default"))) int epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
	if (op != EPOLL_CTL_ADD || !is_the_one(&watches_left))
		return syscall(SYS_epoll_ctl, epoll_fd, op, fd, event);
	errno = ENOMEM;
	return -1;
}

/* What a READ ends with when the `place`th of these fails. */
static enum ibv_wc_status status_with(atomic_int *left, int place, bool connected)
{
	static const struct connection patient = {.no_timeout = true};
	struct pair pair;
	struct ibv_wc wc;
	uint64_t start;

	open_pair_as(&pair, &(struct pair_setup){.a = patient, .b = patient});
	pair.remote->bytes[5] = place;
	if (connected)
		pair_run(&pair, IBV_WR_RDMA_READ, 0, 4, IBV_WC_SUCCESS);
	atomic_store(left, place);
	start = test_now_ms();
	pair_post(&pair, IBV_WR_RDMA_READ, 1, 4096);
	wc = wait_completion(pair.a.cq);
	atomic_store(left, 0);
	CHECK(test_now_ms() - start < LIMIT_MS);
	CHECK(wc.status != IBV_WC_SUCCESS || pair.local->bytes[5] == place);
	close_pair(&pair);
	return wc.status;
}

static void aLostFrameEndsTheConnection(void)
{
	int ended = 0;

	for (int place = 1; place <= PLACES; place++) {
		enum ibv_wc_status status = status_with(&mallocs_left, place, true);

		CHECK(status == IBV_WC_SUCCESS || status == IBV_WC_RETRY_EXC_ERR);
		ended += status != IBV_WC_SUCCESS;
	}
	CHECK(ended);
}

static void body(void)
{
	is_spared = true;
	if (OUR_MALLOC)
		aLostFrameEndsTheConnection();
	for (int place = 1; place <= PLACES; place++)
		CHECK_EQUAL(status_with(&watches_left, place, false), IBV_WC_SUCCESS);
}

MAIN(on_each_link, body)
