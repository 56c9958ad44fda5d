/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What belongs to the process rather than to one object: its identity, ports, addresses and settings. The lock order of
 * the whole device, where a lock to the left of ">" is taken before one to its right:
 *
 *   handle table > qp.lock > cq.lock > srq.lock > event_queue.lock, the locks of progress.c, peer.lock (leaves)
 *                  the lock of progress.c > the lock of watches.c
 *                  qp.lock > the lock of mw.c > the lock of mr_table.c
 *                  qp.lock, cm_id.event_lock > the lock of fault_hold.c > cq.lock; the lock of fault.c is a leaf
 *
 * Progress callbacks start with no lock held. A thread that holds one of these locks never waits for the progress
 * thread.
 */
#ifndef SOFTDEV_CORE_H
#define SOFTDEV_CORE_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFTDEV_EXPORT __attribute__((visibility("default")))
#define container_of_(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* These two set errno and return what a call returns that reports an error by errno. */
static inline void *null_with(int error)
{
	errno = error;
	return NULL;
}

static inline int minus_one_with(int error)
{
	errno = error;
	return -1;
}

enum { PROCESS_NONCE_BYTES = 16 };
/* Returns the boot nonce of this process, PROCESS_NONCE_BYTES long. */
const uint8_t *process_nonce(void);

/*
 * The GID table. Entries 0 and 1 are the primary address as RoCE v1 and RoCE v2; a v1/v2 pair follows for each other
 * address, loopback last. Every entry is an IPv6 or IPv4-mapped address, so a GID converts to an address and back.
 */
int gid_table_length(void);
int gid_table_entry(int index, union ibv_gid *gid, enum ibv_gid_type *type);
/* Returns true if the entry has no address: it was never filled, or its address has been removed from the host. */
bool gid_table_is_empty_at(int index);
/* Returns true if the address belongs to this host: it is in the table, in 127/8, or ::1. */
bool gid_is_local(const union ibv_gid *gid);
/* Returns true for a multicast group, IPv6 or IPv4-mapped. */
bool gid_is_multicast(const union ibv_gid *gid);
/* Returns the interface index of a link-local address of this host; 0 for every other address. */
uint32_t gid_scope(const union ibv_gid *gid);
void gid_from_address(const struct sockaddr *address, union ibv_gid *gid);
/*
 * Writes a sockaddr_in for an IPv4-mapped GID and a sockaddr_in6 otherwise, with the scope if the address is one of
 * this host, and returns its length.
 */
socklen_t gid_to_address(const union ibv_gid *gid, uint16_t port, struct sockaddr_storage *address);

/* Writes the GID to `text` (INET6_ADDRSTRLEN bytes) and returns `text`. */
const char *gid_text(const union ibv_gid *gid, char *text);

/*
 * Returns the one ibv_context that librdmacm hands out as id->verbs. It is opened on first use and never closed. NULL
 * and errno on failure.
 */
struct ibv_context *device_cm_context(void);

/* Returns 0, or EIO after an error message if the kernel gives no random bytes. */
int random_check(void);
/* Fills `out` with random bytes from the kernel, for keys and sequence numbers. Ends the process if it cannot (random_check()). */
void random_bytes(void *out, size_t length);

#endif
