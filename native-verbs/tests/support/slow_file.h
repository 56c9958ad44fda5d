/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of a disk that has stopped: a FUSE file system that is this one file, of which nothing can be read until the test
 * says so. Neither a pipe nor a socket can be mapped, and a file with a lease or on a loop device is not slow by will; FUSE
 * blocks whoever reads or touches the pages, as a disk does.
 */
#ifndef SHUFFLE_RDMA_TEST_SLOW_FILE_H
#define SHUFFLE_RDMA_TEST_SLOW_FILE_H

#include "test.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum { SLOW_BYTES = 1 << 20, SLOW_REQUEST_BYTES = 1 << 17, SLOW_READS = 64 };

struct slow_file {
	char path[32];
	pid_t server;
	int control; /* a byte from the server: somebody reads; one to it: it can be read */
};

static inline void slow_answer(int device, uint64_t unique, int error, const void *body, size_t length)
{
	struct fuse_out_header header = {.len = sizeof(header) + length, .error = -error, .unique = unique};
	struct iovec iov[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)body, length}};

	CHECK(writev(device, iov, 2) >= 0 || errno == ENOENT); /* who has asked may have been killed */
}

/* A READ that waits. */
struct slow_read {
	uint64_t unique, offset;
	uint32_t size;
};

static inline _Noreturn void slow_serve(int device, int control, const uint8_t *bytes)
{
	static uint8_t request[SLOW_REQUEST_BYTES];
	const struct fuse_in_header *header = (const void *)request;
	const struct fuse_read_in *asked = (const void *)(request + sizeof(*header));
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 26, .max_readahead = 65536, .max_write = 65536};
	const struct fuse_attr_out attr = {
		.attr_valid = 3600, .attr = {.ino = 1, .size = SLOW_BYTES, .mode = S_IFREG | 0644, .nlink = 1}};
	const struct fuse_open_out opened = {.fh = 1};
	struct slow_read waiting[SLOW_READS];
	struct pollfd ready[] = {{.fd = device, .events = POLLIN}, {.fd = control, .events = POLLIN}};
	bool goes_on = false, told = false;
	ssize_t length;
	int count = 0;

	while (poll(ready, 2, -1) > 0) {
		char go;

		if (ready[1].revents) {
			if (recv(control, &go, 1, 0) <= 0)
				break;
			goes_on = true;
		}
		length = ready[0].revents ? read(device, request, sizeof(request)) : 0;
		if (length < 0 && errno != EINTR && errno != ENOENT)
			break; /* unmounted */
		switch (length > 0 ? header->opcode : FUSE_FORGET) {
		case FUSE_INIT:
			slow_answer(device, header->unique, 0, &init, sizeof(init));
			break;
		case FUSE_GETATTR:
			slow_answer(device, header->unique, 0, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			slow_answer(device, header->unique, 0, &opened, sizeof(opened));
			break;
		case FUSE_READ:
			CHECK(count < SLOW_READS);
			waiting[count++] = (struct slow_read){header->unique, asked->offset, asked->size};
			if (!told && send(control, "", 1, MSG_NOSIGNAL) < 0)
				_exit(0);
			told = true;
			break;
		case FUSE_FORGET:
		case FUSE_INTERRUPT:
			break;
		default:
			slow_answer(device, header->unique, ENOSYS, NULL, 0);
		}
		for (; goes_on && count; count--)
			slow_answer(device, waiting[count - 1].unique, 0, bytes + waiting[count - 1].offset,
				    waiting[count - 1].size);
	}
	_exit(0);
}

/* Where mounts are this process's own; root needs no user namespace for it. */
static inline void slow_enter_namespace(void)
{
	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		test_skip("no mounts are allowed here");
}

/* Called before any fork that is to see the file. */
static inline struct slow_file slow_file_create(const uint8_t *bytes)
{
	struct slow_file file = {.path = "/tmp/softdev-slow-XXXXXX"};
	int fds[2], device = open("/dev/fuse", O_RDWR | O_CLOEXEC), place = mkstemp(file.path);
	char options[160];

	CHECK(place >= 0);
	close(place);
	slow_enter_namespace();
	snprintf(options, sizeof(options), "fd=%d,rootmode=100000,user_id=%d,group_id=%d,default_permissions%s", device, geteuid(),
		 getegid(), geteuid() ? "" : ",allow_other");
	if (device < 0 || mount("slow", file.path, "fuse", MS_NOSUID | MS_NODEV, options)) {
		unlink(file.path);
		test_skip("FUSE cannot be mounted here");
	}
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds));
	file.server = test_fork();
	if (!file.server)
		slow_serve(device, fds[1], bytes);
	file.control = fds[0];
	close(fds[1]);
	close(device);
	return file;
}

static inline void slow_file_await_reader(const struct slow_file *file)
{
	char byte;

	CHECK_EQUAL(recv(file->control, &byte, 1, 0), 1);
}

static inline void slow_file_go_on(const struct slow_file *file)
{
	CHECK_EQUAL(send(file->control, "", 1, 0), 1);
}

static inline void slow_file_remove(const struct slow_file *file)
{
	CHECK(!umount2(file->path, MNT_DETACH));
	CHECK(!unlink(file->path));
}

#endif
