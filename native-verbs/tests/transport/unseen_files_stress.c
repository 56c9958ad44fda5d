/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two queue pairs ask about the same keys, or look them up, at the same time, while some of the regions, of files and of memory, are
 * deregistered and given other contents: a READ that succeeds brought the bytes of its region, the first one that does
 * not ends as REM_ACCESS_ERR, and those behind it are flushed.
 */
#include "random.h"
#include "unseen.h"

#include <pthread.h>

enum { READERS = 2, LONGEST_DELAY_US = 1500, ROUNDS = 25 };

struct invitation {
	struct address address[READERS];
	uint64_t addr[UNSEEN_FILES];
	uint32_t rkey[UNSEEN_FILES];
};

static void connect_all(struct side *sides, const struct address *remote)
{
	for (int i = 0; i < READERS; i++)
		reconnect_side(&sides[i], &remote[i], NULL);
}

static void introduce(const struct side *sides, struct address *address)
{
	for (int i = 0; i < READERS; i++)
		address[i] = address_of(&sides[i]);
}

/* Several queue pairs of one PD, which makes the same regions readable by all. */
static void open_sides(struct side *sides)
{
	open_side(&sides[0], 16, 16);
	for (int i = 1; i < READERS; i++) {
		sides[i] = sides[0];
		sides[i].qp = create_qp(&sides[0], 16);
	}
}

static void invite(int fd, struct side *sides, struct region *regions)
{
	struct address readers[READERS];
	struct invitation invitation;

	test_receive(fd, readers, sizeof(readers));
	connect_all(sides, readers);
	introduce(sides, invitation.address);
	for (int i = 0; i < UNSEEN_FILES; i++) {
		regions[i] = i % 4 ? create_file_region(sides[0].pd, UNSEEN_BYTES, ALL_REMOTE)
				   : create_region(sides[0].pd, UNSEEN_BYTES, ALL_REMOTE);
		fill_pattern(regions[i].bytes, UNSEEN_BYTES, i);
		invitation.addr[i] = (uintptr_t)regions[i].bytes;
		invitation.rkey[i] = regions[i].mr->rkey;
	}
	test_send(fd, &invitation, sizeof(invitation));
}

static void withdraw(struct region *region)
{
	CHECK_EQUAL(softverbs_ibv_dereg_mr(region->mr), 0);
	region->mr = NULL;
	memset(region->bytes, 0xee, UNSEEN_BYTES);
}

static void serve(int fd)
{
	struct region regions[UNSEEN_FILES];
	struct side sides[READERS];

	random_start();
	open_sides(sides);
	for (int round = 0; round < ROUNDS; round++) {
		invite(fd, sides, regions);
		usleep(next_random(LONGEST_DELAY_US));
		for (int i = 0; i < UNSEEN_FILES; i++)
			if (!next_random(UNSEEN_FILES))
				withdraw(&regions[i]);
		test_await(fd);
		for (int i = 0; i < UNSEEN_FILES; i++)
			destroy_region(&regions[i]);
	}
	for (int i = 1; i < READERS; i++)
		CHECK_EQUAL(softverbs_ibv_destroy_qp(sides[i].qp), 0);
	close_side(&sides[0]);
	check_no_leaks();
}

static void *read_all(void *argument)
{
	struct unseen *unseen = argument;
	enum ibv_wc_status expected = IBV_WC_SUCCESS;

	unseen_post(unseen);
	for (int i = 0; i < UNSEEN_FILES; i++) {
		struct ibv_wc wc = wait_completion(unseen->side.cq);

		CHECK_EQUAL(wc.wr_id, i);
		if (expected == IBV_WC_SUCCESS && wc.status != IBV_WC_SUCCESS) {
			unseen_expect_bytes(unseen, i);
			CHECK_EQUAL(wc.status, IBV_WC_REM_ACCESS_ERR);
			expected = IBV_WC_WR_FLUSH_ERR;
		} else {
			CHECK_EQUAL(wc.status, expected);
		}
	}
	if (expected == IBV_WC_SUCCESS)
		unseen_expect_bytes(unseen, UNSEEN_FILES);
	return NULL;
}

static void accept_invitation(int fd, struct unseen *readers)
{
	struct invitation invitation;
	struct side sides[READERS];
	struct address own[READERS];

	for (int i = 0; i < READERS; i++)
		sides[i] = readers[i].side;
	introduce(sides, own);
	test_send(fd, own, sizeof(own));
	test_receive(fd, &invitation, sizeof(invitation));
	connect_all(sides, invitation.address);
	for (int i = 0; i < READERS; i++)
		for (int file = 0; file < UNSEEN_FILES; file++)
			readers[i].offers[file] =
				(struct offer){.addr = invitation.addr[file], .rkey = invitation.rkey[file]};
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct unseen readers[READERS];
	pthread_t threads[READERS];

	for (int i = 0; i < READERS; i++) {
		open_side(&readers[i].side, 2 * UNSEEN_FILES, UNSEEN_FILES);
		readers[i].sink = add_region(&readers[i].side, UNSEEN_FILES * UNSEEN_BYTES, IBV_ACCESS_LOCAL_WRITE);
	}
	for (int round = 0; round < ROUNDS; round++) {
		accept_invitation(peer.fd, readers);
		for (int i = 0; i < READERS; i++)
			CHECK(!pthread_create(&threads[i], NULL, read_all, &readers[i]));
		for (int i = 0; i < READERS; i++)
			CHECK(!pthread_join(threads[i], NULL));
		test_signal(peer.fd);
	}
	for (int i = 0; i < READERS; i++)
		close_side(&readers[i].side);
	test_join_peer(&peer);
	check_no_leaks();
}

int main(void)
{
	end_on_path("auto", start_on_path("auto", body));
	end_on_path("file", start_on_path("file", body));
}
