/* SPDX-License-Identifier: Apache-2.0 */
/* A host that has a hundred addresses, as one of many containers has: the last one is its own, too. */
#define _GNU_SOURCE
#include <sched.h>

#include "softdev_fixture.h"

enum { BYTES = 64 };

static void body(void)
{
	static const union ibv_gid last = {.raw = {[10] = 0xff, 0xff, 10, 9, 0, 100}};
	struct address to_a, to_b;
	struct region *sink, *source;
	struct side a, b;

	if (unshare(CLONE_NEWNET))
		test_skip("network namespaces need root");
	if (system("ip link set lo up && for i in $(seq 1 100); do ip address add 10.9.0.$i/32 dev lo || exit 1; done"))
		test_skip("no addresses can be added");
	open_side(&a, 16, 16);
	open_side(&b, 16, 16);
	to_a = address_of(&a);
	to_b = address_of(&b);
	to_a.gid = to_b.gid = last;
	connect_side(&a, &to_b, NULL);
	connect_side(&b, &to_a, NULL);
	sink = add_region(&a, BYTES, IBV_ACCESS_LOCAL_WRITE);
	source = add_region(&b, BYTES, ALL_REMOTE);
	read_and_expect(&a, 1, sink, BYTES, (uintptr_t)source->bytes, source->mr->rkey, IBV_WC_SUCCESS);
	close_side(&a);
	close_side(&b);
}

MAIN(test_run_apart, body)
