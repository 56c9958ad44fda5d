/* SPDX-License-Identifier: Apache-2.0 */
/* TCP sockets for links between hosts. */
#ifndef SOFTDEV_LINK_TCP_H
#define SOFTDEV_LINK_TCP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Starts to connect from the address of one GID to the address of the other; a link-local destination is reached over
 * the interface of the source. Returns 0 with *fd set, or a positive errno.
 */
int tcp_connect(const union ibv_gid *source, const union ibv_gid *destination, uint16_t port, int *fd);
/*
 * Returns how many nanoseconds ago the other host last acknowledged data, if it has acknowledged any since *acked was
 * noted, otherwise UINT64_MAX. An acknowledgement of nothing new, as from a full window, does not count.
 */
uint64_t tcp_taken_ago_ns(int fd, uint64_t *acked);

/* Returns the result of connecting, once the socket is writable: 0 or a positive errno. */
int tcp_result(int fd);

/*
 * Limits the data under way on a short path, so that arriving data is still in the processor's cache when it is copied
 * out. On other paths the kernel sizes the buffer better. Returns false if the path has not been short so far; on a
 * busy host the first round trips take longer than the path requires.
 */
bool tcp_tune(int fd);

/* Returns the interface of a link-local peer; 0 for any other. */
uint32_t tcp_peer_scope(int fd);

/* Sets the options of an accepted socket and stores the GIDs of both ends. 0 or a positive errno. */
int tcp_accepted(int fd, union ibv_gid *own, union ibv_gid *peer);

#endif
