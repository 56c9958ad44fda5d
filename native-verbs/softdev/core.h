/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What belongs to the process and not to one object: identity, ports, addresses, settings; and the
 * lock order of the whole device:
 *
 *   handle table > qp.lock > cq.lock > srq.lock > event_queue.lock, that of progress.c, peer.lock (leaves)
 *                  that of progress.c > that of watches.c
 *                  qp.lock > the lock of mw.c > the lock of mr_table.c
 *                  qp.lock, cm_id.event_lock > the lock of fault_hold.c > cq.lock; that of fault.c is a leaf
 *
 * Progress callbacks start with none of them. Nobody waits for the progress thread with one held.
 */
#ifndef SOFTDEV_CORE_H
#define SOFTDEV_CORE_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFTDEV_EXPORT __attribute__((visibility("default")))
#define container_of_(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

enum { PROCESS_NONCE_BYTES = 16 };
/* The boot nonce of this process (PROCESS_NONCE_BYTES). */
const uint8_t *process_nonce(void);

/*
 * The GID table: 0 and 1 = primary address as RoCE v1 and v2, then v1/v2 pairs of the others, loopback
 * last. All entries are IPv4-mapped or IPv6 addresses, so a GID converts to an address and back.
 */
int gid_table_length(void);
int gid_table_entry(int index, union ibv_gid *gid, enum ibv_gid_type *type);
/* No address stands there: it was never filled, or its address has gone. */
bool gid_table_is_empty_at(int index);
/* True if the address is one of this host (a listed one or anything in 127/8 or ::1). */
bool gid_is_local(const union ibv_gid *gid);
/* True for a multicast group: an IPv6 one, or an IPv4 one mapped as any other address. */
bool gid_is_multicast(const union ibv_gid *gid);
/* The interface of a link-local address of ours; 0 for all others. */
uint32_t gid_scope(const union ibv_gid *gid);
void gid_from_address(const struct sockaddr *address, union ibv_gid *gid);
/* Fills a sockaddr_in for IPv4-mapped GIDs, sockaddr_in6 otherwise, with the scope if it is ours; returns its length. */
socklen_t gid_to_address(const union ibv_gid *gid, uint16_t port, struct sockaddr_storage *address);

/* As text, in `text` (INET6_ADDRSTRLEN bytes). */
const char *gid_text(const union ibv_gid *gid, char *text);

/* The one ibv_context that librdmacm hands out as id->verbs; opened on first use, never closed. NULL + errno. */
struct ibv_context *device_cm_context(void);

/* Random bytes of the kernel, for keys and sequence numbers. */
void random_bytes(void *out, size_t length);

#endif
