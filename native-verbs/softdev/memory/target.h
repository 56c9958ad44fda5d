/* SPDX-License-Identifier: Apache-2.0 */
/* The region of a READ as the peer's tables show it, for a requester that reads it without asking the peer. */
#ifndef SOFTDEV_TARGET_H
#define SOFTDEV_TARGET_H

#include "memory/peer_table.h"

#include <stdbool.h>
#include <stdint.h>

/* The connection to the peer's queue pair, as it was when the READ began. */
struct target_peer {
	const struct shared_table *table;
	const struct qp_entry *qp;
	uint64_t qp_generation;
};

/* What is known of the region while its generation stays the same. */
struct target {
	const struct mr_entry *entry;
	uint64_t generation;
	uint64_t iova, length;
	uint64_t address, file_offset; /* of its first byte: in the peer's memory; if has_file, in the file */
	uint32_t rkey;
	bool has_file;
};

/*
 * Looks up what stands in the slot of the key; false if the responder would refuse every READ with it, or is gone. Whether the key
 * is that region's own only the responder can tell (transport/peer.h).
 */
bool target_find(const struct target_peer *peer, uint32_t rkey, struct target *target);
/* Between a copy, of the region or of its entry, and these checks: its loads come before theirs. */
void target_copied(void);
/* Tells, after a copy or between a look at the entry and its use, whether everything is still as it was. */
bool target_peer_unchanged(const struct target_peer *peer);
bool target_unchanged(const struct target *target);

static inline bool target_covers(const struct target *target, uint64_t address, uint64_t length)
{
	return address >= target->iova && length <= target->length &&
	       address - target->iova <= target->length - length;
}

static inline uint64_t target_address(const struct target *target, uint64_t address)
{
	return target->address + (address - target->iova);
}

static inline uint64_t target_file_offset(const struct target *target, uint64_t address)
{
	return target->file_offset + (address - target->iova);
}

#endif
