/* SPDX-License-Identifier: Apache-2.0 */
/* TCP sockets for links between hosts. */
#ifndef SOFTDEV_LINK_TCP_H
#define SOFTDEV_LINK_TCP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Starts to connect from the address of one GID to that of the other; link-local ones are reached over the interface
 * of the source. 0 with *fd, or an errno.
 */
int tcp_connect(const union ibv_gid *source, const union ibv_gid *destination, uint16_t port, int *fd);
/*
 * When the other host last took some of what was sent, in nanoseconds before now, if it took any since *acked was noted;
 * else UINT64_MAX. That a full window is still full does not count.
 */
uint64_t tcp_taken_ago_ns(int fd, uint64_t *acked);

/* Returns how the attempt to connect ended, once the socket is writable. 0 or an errno. */
int tcp_result(int fd);

/*
 * On a short path little data may be under way, so that what arrives is still in the processor's cache when it is copied
 * out. The kernel's own sizing suits all others. False if the path has not been short so far; on a busy host the first
 * round trips take longer than the path is.
 */
bool tcp_tune(int fd);

/* Returns the interface behind which the other end is, if it has a link-local address; otherwise 0. */
uint32_t tcp_peer_scope(int fd);

/* For an accepted socket: options, and the GIDs of both ends. 0 or an errno. */
int tcp_accepted(int fd, union ibv_gid *own, union ibv_gid *peer);

#endif
