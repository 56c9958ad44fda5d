/* SPDX-License-Identifier: Apache-2.0 */
/* A process that owns files, and another one that READs all of them by one list, whose keys it has not used before. */
#ifndef SHUFFLE_RDMA_TEST_UNSEEN_H
#define SHUFFLE_RDMA_TEST_UNSEEN_H

#include "offer.h"

enum { UNSEEN_FILES = 64, UNSEEN_BYTES = 4096 };

struct unseen {
	struct side side;
	struct offer offers[UNSEEN_FILES];
	struct region *sink;
};

/* The owner's part up to the connection. File i has the pattern i. */
static inline void unseen_offer(int fd, struct side *side, struct region *files)
{
	struct offer offers[UNSEEN_FILES];

	open_side(side, 16, 16);
	for (int i = 0; i < UNSEEN_FILES; i++) {
		files[i] = create_file_region(side->pd, UNSEEN_BYTES, IBV_ACCESS_REMOTE_READ);
		fill_pattern(files[i].bytes, UNSEEN_BYTES, i);
		offers[i] = offer_of(side, &files[i]);
	}
	offer_region(fd, side, add_region(side, UNSEEN_BYTES, IBV_ACCESS_REMOTE_READ), NULL);
	test_send(fd, offers, sizeof(offers));
}

static inline void unseen_destroy(struct side *side, struct region *files)
{
	for (int i = 0; i < UNSEEN_FILES; i++)
		destroy_region(&files[i]);
	close_side(side);
}

/* The reader's part: connects, and reads what is no file, so that the link is open. */
static inline void unseen_open(struct unseen *unseen, int fd, const struct connection *how)
{
	struct offer known;

	open_side(&unseen->side, 2 * UNSEEN_FILES, UNSEEN_FILES);
	unseen->sink = add_region(&unseen->side, UNSEEN_FILES * UNSEEN_BYTES, IBV_ACCESS_LOCAL_WRITE);
	known = accept_offer(fd, &unseen->side, how);
	test_receive(fd, unseen->offers, sizeof(unseen->offers));
	read_and_expect(&unseen->side, 1, unseen->sink, UNSEEN_BYTES, known.addr, known.rkey, IBV_WC_SUCCESS);
}

static inline void unseen_post(struct unseen *unseen)
{
	struct ibv_send_wr wr[UNSEEN_FILES], *bad;
	struct ibv_sge sge[UNSEEN_FILES];

	memset(unseen->sink->bytes, 0, unseen->sink->length);
	for (int i = 0; i < UNSEEN_FILES; i++) {
		sge[i] = sge_of(unseen->sink, (uint64_t)i * UNSEEN_BYTES, UNSEEN_BYTES);
		chain_read(wr, i, UNSEEN_FILES, &sge[i], unseen->offers[i].addr, unseen->offers[i].rkey);
	}
	CHECK_EQUAL(ibv_post_send(unseen->side.qp, wr, &bad), 0);
}

static inline void unseen_expect_bytes(const struct unseen *unseen, int files)
{
	uint8_t expected[UNSEEN_BYTES];

	for (int i = 0; i < files; i++) {
		fill_pattern(expected, UNSEEN_BYTES, i);
		CHECK(!memcmp(unseen->sink->bytes + (size_t)i * UNSEEN_BYTES, expected, UNSEEN_BYTES));
	}
}

/* Posts the list, and takes what it brings. */
static inline void unseen_read(struct unseen *unseen)
{
	unseen_post(unseen);
	expect_completions(unseen->side.cq, 0, UNSEEN_FILES - 1, IBV_WC_SUCCESS);
	unseen_expect_bytes(unseen, UNSEEN_FILES);
}

#endif
