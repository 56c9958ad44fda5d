/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links within a process: what one end writes the other reads from memory, so that they take no descriptors, of which a socket
 * takes two for each link. Everything else is as on a unix socket, the handshake and descriptors that are passed too. Payload is
 * copied by the kernel, for the memory of applications may be gone although it is registered. Progress thread only.
 */
#ifndef SOFTDEV_LINK_LOCAL_H
#define SOFTDEV_LINK_LOCAL_H

#include "link/link_internal.h"

/* Is that a port of this process, and can such links be had? */
bool link_local_reaches(uint16_t port);
/* Gives the link, which has no socket, another end that waits for its HELLO. 0 or an errno. */
int link_local_connect(struct link *link);
void link_local_close(struct link *link);

/* Calls link_on_events() soon if any of these (EPOLLIN, EPOLLOUT) can be done, or the other end has closed. */
void link_local_update(struct link *link, uint32_t events);

/* As sendmsg() and recvmsg(): bytes or -errno, -ENODATA at the end of the stream. `is_ours`: no memory of the application. */
ssize_t link_local_send(struct link *link, const struct iovec *iov, int count, bool is_ours, const int *fds, int fd_count);
ssize_t link_local_receive(struct link *link, const struct iovec *iov, int count, bool is_ours, bool with_fds);

#endif
