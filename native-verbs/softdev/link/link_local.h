/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links within a process: each end reads from memory what the other writes. They need no descriptors, whereas a socket
 * takes two for each link; otherwise they behave as unix sockets, including the handshake and passed descriptors. The
 * kernel copies payloads of the application, whose memory may be unmapped although it is registered. Progress thread
 * only.
 */
#ifndef SOFTDEV_LINK_LOCAL_H
#define SOFTDEV_LINK_LOCAL_H

#include "link/link_internal.h"

/* Returns true if the port belongs to this process and local links are possible. */
bool link_local_reaches(uint16_t port);
/* Gives the link, which has no socket, a peer end that waits for its HELLO. 0 or a positive errno. */
int link_local_connect(struct link *link);
void link_local_close(struct link *link);

/* Calls link_on_events() soon if one of these events (EPOLLIN, EPOLLOUT) is possible or the other end has closed. */
void link_local_update(struct link *link, uint32_t events);

/*
 * As sendmsg() and recvmsg(): number of bytes or -errno, -ENODATA at the end of the stream. `is_ours` says that the
 * memory is not the application's. If bytes are sent, the descriptors are no longer the caller's.
 */
ssize_t link_local_send(struct link *link, const struct iovec *iov, int count, bool is_ours, const int *fds, int fd_count);
ssize_t link_local_receive(struct link *link, const struct iovec *iov, int count, bool is_ours, bool with_fds);

#endif
