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

/* The properties of the region, which hold while its generation stays the same. */
struct target {
	const struct mr_entry *entry;
	uint64_t generation;
	uint64_t iova, length;
	uint64_t address, file_offset; /* place of its first byte in the peer's memory and, if has_file, in the file */
	uint32_t rkey;
	bool has_file;
};

/*
 * Looks up the slot of the key; returns false if the responder would refuse every READ with it, or is gone. The table does
 * not tell whether the key is that region's own (transport/peer.h).
 */
bool target_find(const struct target_peer *peer, uint32_t rkey, struct target *target);
/* Called between a copy, of the region or of its entry, and these checks: its loads come before theirs. */
void target_copied(void);
/* Called after a copy, or between a look at the entry and its use: they return true if nothing has changed. */
bool target_peer_unchanged(const struct target_peer *peer);
bool target_unchanged(const struct target *target);

static inline bool target_covers(const struct target *target, uint64_t address, uint64_t length)
{
	return address >= target->iova && length <= target->length &&
	       address - target->iova <= target->length - length;
}

/* Returns the offset of an address of the region in its file, or its address in the peer's memory. */
static inline uint64_t target_place(const struct target *target, bool in_file, uint64_t address)
{
	return (in_file ? target->file_offset : target->address) + (address - target->iova);
}

#endif
