/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/target.h"

bool target_find(const struct target_peer *peer, uint32_t rkey, struct target *target)
{
	const struct mr_entry *entry = &peer->table->mr[rkey >> 16];
	uint32_t pd, access;
	uint64_t bound_qp;

	target->entry = entry;
	target->generation = atomic_load_explicit(&entry->generation, memory_order_acquire);
	target->iova = entry->iova;
	target->length = entry->length;
	target->address = entry->address;
	target->file_offset = entry->file_offset;
	target->rkey = rkey;
	target->has_file = entry->has_file;
	pd = entry->pd;
	access = entry->access;
	bound_qp = entry->bound_qp;
	target_copied();
	return (target->generation & 1) && target_unchanged(target) && target_peer_unchanged(peer) &&
	       pd == peer->qp->pd && (access & IBV_ACCESS_REMOTE_READ) &&
	       (!bound_qp || bound_qp == peer->qp_generation);
}

void target_copied(void)
{
	atomic_thread_fence(memory_order_acquire);
}

bool target_unchanged(const struct target *target)
{
	/* pairs with ibv_dereg_mr of the peer */
	return atomic_load_explicit(&target->entry->generation, memory_order_acquire) == target->generation;
}

bool target_peer_unchanged(const struct target_peer *peer)
{
	/* pairs with modify_qp of the peer */
	return atomic_load_explicit(&peer->qp->generation, memory_order_acquire) == peer->qp_generation &&
	       atomic_load_explicit(&peer->qp->readable, memory_order_acquire) && peer_table_alive(peer->table);
}
