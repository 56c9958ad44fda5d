/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A proof on a unix socket names the boot of the kernel, for another host may give its network namespace the same inode: a
 * process that another kernel's boot is shown to (which stands for an accomplice there) proves nothing here, nor does one that
 * cannot tell where it is.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "offer.h"

enum { BYTES = 4096 };

static const struct connection quick = {.timeout = 10, .retry_count = 1};

static enum where { HERE, ANOTHER_BOOT, NO_BOOT, WHERES } where;

static void go_there(void)
{
	char name[] = "/tmp/softdev-boot-XXXXXX";
	int fd;

	if (where == HERE)
		return;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		test_skip("no mounts are allowed here");
	fd = mkstemp(name);
	if (where == ANOTHER_BOOT)
		CHECK_EQUAL(write(fd, "01234567-89ab-cdef-0123-456789abcdef\n", 37), 37);
	CHECK(!mount(name, "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL));
	CHECK(!unlink(name));
	close(fd);
}

static void serve(int fd)
{
	go_there();
	serve_region(fd, BYTES);
}

static void read_from_there(void)
{
	struct test_peer peer;
	struct region *sink;
	struct offer offer;
	struct side side;

	setenv("SOFTVERBS_SECRET", "one secret for both of them", 1);
	peer = test_start_peer(serve);
	offer = open_reader(peer.fd, &side, BYTES, &quick, &sink);
	read_and_expect(&side, 1, sink, BYTES, offer.addr, offer.rkey,
			where == HERE ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
	test_finish_peer(&peer);
	close_side(&side);
}

int main(void)
{
	if (geteuid())
		test_skip("only root can mount");
	for (; where < WHERES; where++)
		test_run_apart(read_from_there);
}
