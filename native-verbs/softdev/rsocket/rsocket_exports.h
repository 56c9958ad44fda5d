/* SPDX-License-Identifier: Apache-2.0 */
/* Prototypes of the exported softverbs_r* functions; each behaves as rsocket(7) says of the function of that name. */
#ifndef SOFTDEV_RSOCKET_EXPORTS_H
#define SOFTDEV_RSOCKET_EXPORTS_H

#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#pragma GCC visibility push(default)

int softverbs_rsocket(int domain, int type, int protocol);
int softverbs_rbind(int fd, const struct sockaddr *address, socklen_t length);
int softverbs_rlisten(int fd, int backlog);
int softverbs_raccept(int fd, struct sockaddr *address, socklen_t *length);
int softverbs_rconnect(int fd, const struct sockaddr *address, socklen_t length);
int softverbs_rshutdown(int fd, int how);
int softverbs_rclose(int fd);

ssize_t softverbs_rrecv(int fd, void *data, size_t length, int flags);
ssize_t softverbs_rrecvfrom(int fd, void *data, size_t length, int flags, struct sockaddr *source,
			    socklen_t *source_length);
ssize_t softverbs_rrecvmsg(int fd, struct msghdr *message, int flags);
ssize_t softverbs_rread(int fd, void *data, size_t length);
ssize_t softverbs_rreadv(int fd, const struct iovec *list, int count);
ssize_t softverbs_rsend(int fd, const void *data, size_t length, int flags);
ssize_t softverbs_rsendto(int fd, const void *data, size_t length, int flags,
			  const struct sockaddr *destination, socklen_t destination_length);
ssize_t softverbs_rsendmsg(int fd, const struct msghdr *message, int flags);
ssize_t softverbs_rwrite(int fd, const void *data, size_t length);
ssize_t softverbs_rwritev(int fd, const struct iovec *list, int count);

int softverbs_rpoll(struct pollfd *fds, nfds_t count, int timeout_ms);
int softverbs_rselect(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
		      struct timeval *timeout);

int softverbs_rgetpeername(int fd, struct sockaddr *address, socklen_t *length);
int softverbs_rgetsockname(int fd, struct sockaddr *address, socklen_t *length);
int softverbs_rsetsockopt(int fd, int level, int name, const void *value, socklen_t length);
int softverbs_rgetsockopt(int fd, int level, int name, void *value, socklen_t *length);
int softverbs_rfcntl(int fd, int command, ...);

off_t softverbs_riomap(int fd, void *data, size_t length, int protection, int flags, off_t offset);
int softverbs_riounmap(int fd, void *data, size_t length);
size_t softverbs_riowrite(int fd, const void *data, size_t length, off_t offset, int flags);

#pragma GCC visibility pop

#endif
