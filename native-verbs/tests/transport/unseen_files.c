/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of READs of files that the reader has never read costs one question and one answer, however many files there
 * are, and none where the reader finds the keys in the owner's memory.
 */
#define _GNU_SOURCE
#include "unseen.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define EXPORTED __attribute__((visibility("default")))

enum { MOST_RECEIVES = 8 };

/*
 * Calls of this process, the device's among them, because a program's functions come before those of libraries. A call
 * that brings nothing is not counted: the device's thread makes one after the last message that came before
 * forget_calls(), perhaps later than that.
 */
static atomic_int sent, received;

EXPORTED ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t (*next)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");

	atomic_fetch_add(&sent, 1);
	return next(fd, message, flags);
}

EXPORTED ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t (*next)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
	ssize_t bytes = next(fd, message, flags);

	if (bytes > 0)
		atomic_fetch_add(&received, 1);
	return bytes;
}

static void forget_calls(void)
{
	atomic_store(&sent, 0);
	atomic_store(&received, 0);
}

static void expect_messages(void)
{
	int messages = test_path_is("file");

	CHECK_EQUAL(atomic_load(&sent), messages);
	CHECK(atomic_load(&received) <= messages * MOST_RECEIVES);
}

static void serve(int fd)
{
	struct region files[UNSEEN_FILES];
	struct side side;

	unseen_offer(fd, &side, files);
	test_await(fd);
	/* An empty READ back: then this side's link is open as well, and nothing of the set-up is under way. */
	read_and_expect(&side, 1, &files[0], 0, 0, 0, IBV_WC_SUCCESS);
	forget_calls();
	test_rendezvous(fd);
	expect_messages();
	unseen_destroy(&side, files);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct unseen unseen;

	unseen_open(&unseen, peer.fd, NULL);
	test_rendezvous(peer.fd);
	forget_calls();
	unseen_read(&unseen);
	expect_messages();
	CHECK_EQUAL(test_path_is("file") ? counters_now().reads_file : counters_now().reads_cma, UNSEEN_FILES + 1);
	test_finish_peer(&peer);
	close_side(&unseen.side);
}

int main(void)
{
	end_on_path("auto", start_on_path("auto", body));
	end_on_path("file", start_on_path("file", body));
}
