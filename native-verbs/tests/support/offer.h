/* SPDX-License-Identifier: Apache-2.0 */
/* A region that one process offers to another for READs and WRITEs, and how the two connect. */
#ifndef SHUFFLE_RDMA_TEST_OFFER_H
#define SHUFFLE_RDMA_TEST_OFFER_H

#include "softdev_fixture.h"

struct offer {
	struct address address;
	uint64_t addr;
	uint32_t rkey;
};

static inline struct offer offer_of(const struct side *side, const struct region *region)
{
	return (struct offer){address_of(side), (uintptr_t)region->bytes, region->mr->rkey};
}

/* The owner's part: waits for a reader at `fd`, connects to it, and says what it may read. */
static inline void offer_region(int fd, struct side *side, const struct region *region, const struct connection *how)
{
	struct offer offer = offer_of(side, region);
	struct address reader;

	test_receive(fd, &reader, sizeof(reader));
	connect_side(side, &reader, how);
	test_send(fd, &offer, sizeof(offer));
}

/* The reader's part. */
static inline struct offer accept_offer(int fd, struct side *side, const struct connection *how)
{
	struct address own = address_of(side);
	struct offer offer;

	test_send(fd, &own, sizeof(own));
	test_receive(fd, &offer, sizeof(offer));
	connect_side(side, &offer.address, how);
	return offer;
}

/* Opens a reader of what the owner at `fd` offers, with a sink of so many bytes. */
static inline struct offer open_reader(int fd, struct side *side, size_t bytes, const struct connection *how,
				       struct region **sink)
{
	open_side(side, 16, 16);
	*sink = add_region(side, bytes, IBV_ACCESS_LOCAL_WRITE);
	return accept_offer(fd, side, how);
}

/* A peer that only offers a region of `bytes` bytes, filled with pattern 1, to be READ, until it is told to end. */
static inline void serve_region(int fd, size_t bytes)
{
	struct side side;
	struct region *region;

	open_side(&side, 16, 16);
	region = add_region(&side, bytes, IBV_ACCESS_REMOTE_READ);
	fill_pattern(region->bytes, bytes, 1);
	offer_region(fd, &side, region, NULL);
	test_await(fd);
	close_side(&side);
	check_no_leaks();
}

/* Both offer a region: each calls it, connects to the other, and learns what it may use. */
static inline struct offer exchange_offers(int fd, struct side *side, const struct region *region)
{
	struct offer own = offer_of(side, region), theirs;

	test_send(fd, &own, sizeof(own));
	test_receive(fd, &theirs, sizeof(theirs));
	connect_side(side, &theirs.address, NULL);
	return theirs;
}

/* Two processes that offer nothing: both call it, and connect to each other. */
static inline void connect_over(int fd, struct side *side, const struct connection *how)
{
	struct address own = address_of(side), remote;

	test_send(fd, &own, sizeof(own));
	test_receive(fd, &remote, sizeof(remote));
	connect_side(side, &remote, how);
}

#endif
