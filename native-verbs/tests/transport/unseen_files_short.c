/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of files that cannot be passed are done without: the reader has no room for them, or their owner has none
 * for copies of them, or the user has too many under way between processes. Every READ brings its bytes over the wire then.
 */
#include "descriptors.h"
#include "unseen.h"
#include "users.h"

enum { ROOM = 10 };

static enum { READER, OWNER, USER } who_is_short;

/* The kernel spares processes with certain capabilities (unix(7), ETOOMANYREFS). */
static void give_up_root(void)
{
	if (!geteuid())
		become_user(NOBODY);
	CHECK(!prctl(PR_SET_DUMPABLE, 1));
}

/* Puts more descriptors under way than the user may have, and leaves them there. */
static void exhaust_user(void)
{
	enum { AT_ONCE = 200, MESSAGES = 3 };
	int fds[2], passed[AT_ONCE];
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(passed))];
	} control = {.header = {CMSG_LEN(sizeof(passed)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {passed, 1};
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

	for (int i = 0; i < AT_ONCE; i++)
		passed[i] = STDERR_FILENO;
	memcpy(CMSG_DATA(&control.header), passed, sizeof(passed));
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	for (int i = 0; i < MESSAGES; i++)
		CHECK_EQUAL(sendmsg(fds[0], &message, 0), 1);
	limit_descriptors(AT_ONCE);
	CHECK_FAILS(sendmsg(fds[0], &message, 0), ETOOMANYREFS);
}

static void serve(int fd)
{
	struct region files[UNSEEN_FILES];
	struct side side;

	if (who_is_short == USER)
		give_up_root();
	unseen_offer(fd, &side, files);
	test_await(fd);
	if (who_is_short == OWNER)
		limit_descriptors(open_descriptors() + ROOM);
	else if (who_is_short == USER)
		exhaust_user();
	test_rendezvous(fd);
	unseen_destroy(&side, files);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct softverbs_counters before, after;
	struct unseen unseen;

	if (who_is_short == USER)
		give_up_root();
	unseen_open(&unseen, peer.fd, NULL);
	test_rendezvous(peer.fd);
	if (who_is_short == READER)
		limit_descriptors(open_descriptors() + ROOM);
	before = counters_now();
	unseen_read(&unseen);
	unseen_read(&unseen);
	after = counters_now();
	CHECK(after.reads_file - before.reads_file < UNSEEN_FILES); /* of two lists */
	test_finish_peer(&peer);
	close_side(&unseen.side);
}

int main(void)
{
	for (who_is_short = READER; who_is_short <= USER; who_is_short++)
		end_on_path("file", start_on_path("file", body));
}
