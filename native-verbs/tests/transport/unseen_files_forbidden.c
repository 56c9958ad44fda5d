/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that the kernel lets read the owner's memory no more, which it finds out when it looks for keys there, asks about
 * them: READs of files come by their descriptors, also those whose keys it had found before.
 */
#include "denied.h"
#include "unseen.h"

#include <sys/syscall.h>

enum { FLAGS = 5 }; /* the last argument of process_vm_readv(), which is 0 */

static void serve(int fd)
{
	struct region files[UNSEEN_FILES];
	struct side side;

	unseen_offer(fd, &side, files);
	test_await(fd);
	unseen_destroy(&side, files);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	const struct offer *known;
	struct unseen unseen;

	unseen_open(&unseen, peer.fd, NULL);
	known = &unseen.offers[UNSEEN_FILES - 1];
	read_and_expect(&unseen.side, 1, unseen.sink, UNSEEN_BYTES, known->addr, known->rkey, IBV_WC_SUCCESS);
	CHECK_EQUAL(counters_now().reads_cma, 2);
	deny_call(SYS_process_vm_readv, FLAGS, 0, EPERM);
	unseen_read(&unseen);
	CHECK_EQUAL(counters_now().reads_cma, 2);
	CHECK_EQUAL(counters_now().reads_file, UNSEEN_FILES);
	CHECK_EQUAL(counters_now().reads_wire, 0);
	test_finish_peer(&peer);
	close_side(&unseen.side);
}

int main(void)
{
	end_on_path("auto", start_on_path("auto", body));
}
