/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test of the device uses. A test is one program with one claim; it exits 0 if the claim holds,
 * 77 if it cannot be tried here (the reason on stderr), anything else if not. Every wait ends: TEST_SECONDS
 * at most for the program, tests/run adds a limit from outside.
 *
 * RDMA_TEST_DEVICE names another device than the software device: then the test runs once and not on each of the
 * software device's paths, and only on the distribution's libraries (real_device.h). TEST_WAIT_MS is what it then waits for
 * what may not come.
 */
#ifndef SHUFFLE_RDMA_TEST_H
#define SHUFFLE_RDMA_TEST_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Under a sanitizer a program takes several times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_SLOWER = 4 };
#else
enum { TEST_SLOWER = 1 };
#endif

enum { TEST_SECONDS = 60 * TEST_SLOWER, TEST_SKIPPED = 77, USUAL_WAIT_MS = 20000 * TEST_SLOWER };

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			test_fail(__FILE__, __LINE__, #condition);                                 \
	} while (0)

/* The program runs the body in one of the ways of this folder, such as on_each_path(). */
#define MAIN(run, body)                                                                            \
	int main(void)                                                                             \
	{                                                                                          \
		run(body);                                                                         \
	}

/* Both sides as numbers, which a failure shows. */
#define CHECK_EQUAL(actual, expected)                                                              \
	do {                                                                                       \
		long long actual_ = (long long)(actual), expected_ = (long long)(expected);        \
		if (actual_ != expected_) {                                                        \
			fprintf(stderr, "%lld is not %lld: ", actual_, expected_);                 \
			test_fail(__FILE__, __LINE__, #actual " == " #expected);                   \
		}                                                                                  \
	} while (0)

/* The call returns -1, or NULL for CHECK_REFUSED(), and says why by errno. */
#define CHECK_FAILS(call, error)                                                                   \
	do {                                                                                       \
		errno = 0;                                                                         \
		CHECK_EQUAL(call, -1);                                                             \
		CHECK_EQUAL(errno, error);                                                         \
	} while (0)

#define CHECK_REFUSED(call, error)                                                                 \
	do {                                                                                       \
		errno = 0;                                                                         \
		CHECK(!(call));                                                                    \
		CHECK_EQUAL(errno, error);                                                         \
	} while (0)

static inline _Noreturn void test_fail(const char *file, int line, const char *claim)
{
	int error = errno;

	fprintf(stderr, "%s:%d: [%d] failed: %s (errno %d, %s)\n", file, line, (int)getpid(), claim,
		error, strerror(error));
	exit(1);
}

/* What was seen of `what` is not what the test claims. */
static inline void test_say_difference(const char *what, const char *seen, const char *expected)
{
	fprintf(stderr, "differs: %s: %s, not %s\n", what, seen, expected);
}

static inline _Noreturn void test_end_differing(const char *what, const char *seen, const char *expected)
{
	test_say_difference(what, seen, expected);
	exit(1);
}

static inline _Noreturn void test_skip(const char *reason)
{
	fprintf(stderr, "skipped: %s\n", reason);
	exit(TEST_SKIPPED);
}

/* The device to test; NULL for the software device. */
static inline const char *test_device(void)
{
	return getenv("RDMA_TEST_DEVICE");
}

static inline uint64_t test_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline uint64_t test_now_ms(void)
{
	return test_now_us() / 1000;
}

static inline void test_sleep_ms(long milliseconds)
{
	struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* The longest time that anything may take to come. */
static inline uint32_t wait_ms(void)
{
	const char *text = getenv("TEST_WAIT_MS");

	return text ? (uint32_t)atoi(text) : USUAL_WAIT_MS;
}

#define WAIT_MS wait_ms()

/* Waits until the condition holds. */
#define AWAIT(condition)                                                                           \
	for (uint64_t deadline_ = test_now_ms() + WAIT_MS; !(condition); usleep(100))              \
	CHECK(test_now_ms() < deadline_ && "in time: " #condition)

/* Waits until the descriptor is readable; false after the time. */
static inline bool test_readable(int fd, int timeout_ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	return poll(&ready, 1, timeout_ms) == 1;
}

/* A child that ends with its parent; 0 in the child. */
static inline pid_t test_fork(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* The child must end by itself with status 0 (or as a skip, which skips the test). */
static inline void test_join(pid_t pid)
{
	int status;

	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED)
		exit(TEST_SKIPPED);
	if (status) {
		fprintf(stderr, "the other process failed: %d\n", status);
		exit(1);
	}
}

/* Runs body() in a process of its own, which must succeed: where it changes what this process is to keep. */
static inline void test_run_apart(void (*body)(void))
{
	pid_t pid = test_fork();

	if (!pid) {
		alarm(TEST_SECONDS);
		body();
		exit(0);
	}
	test_join(pid);
}

/* The number of an array's elements. */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/*
 * A second process, made before the first one has touched the device (a fork's child may not use it).
 * Both ends speak over `fd`; the child ends when body() returns, and with its parent.
 */
struct test_peer {
	pid_t pid;
	int fd;
};

static inline struct test_peer test_start_peer(void (*body)(int fd))
{
	struct test_peer peer;
	int fds[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds));
	peer.pid = test_fork();
	alarm(TEST_SECONDS);
	if (!peer.pid) {
		close(fds[0]);
		body(fds[1]);
		exit(0);
	}
	close(fds[1]);
	peer.fd = fds[0];
	return peer;
}

static inline void test_send(int fd, const void *message, size_t length)
{
	CHECK_EQUAL(write(fd, message, length), length);
}

static inline void test_receive(int fd, void *message, size_t length)
{
	ssize_t got;

	CHECK(test_readable(fd, TEST_SECONDS * 1000));
	got = read(fd, message, length);
	if (got <= 0) {
		fprintf(stderr, "the other process is gone\n");
		exit(1);
	}
	CHECK_EQUAL(got, length);
}

/* What one process signals, the other one awaits. */
static inline void test_signal(int fd)
{
	test_send(fd, "", 1);
}

static inline void test_await(int fd)
{
	char byte;

	test_receive(fd, &byte, 1);
}

/* Tells the other process that this one has come so far, and waits until it has as well. */
static inline void test_rendezvous(int fd)
{
	test_signal(fd);
	test_await(fd);
}

static inline void test_join_peer(struct test_peer *peer)
{
	test_join(peer->pid);
	close(peer->fd);
}

/* Signals a peer that awaits this before it ends, and joins it. */
static inline void test_finish_peer(struct test_peer *peer)
{
	test_signal(peer->fd);
	test_join_peer(peer);
}

static inline void test_kill_peer(struct test_peer *peer)
{
	int status;

	CHECK(!kill(peer->pid, SIGKILL));
	CHECK_EQUAL(waitpid(peer->pid, &status, 0), peer->pid);
}

/* Returns when it has stopped. */
static inline void test_stop_peer(struct test_peer *peer)
{
	int status;

	CHECK(!kill(peer->pid, SIGSTOP));
	CHECK_EQUAL(waitpid(peer->pid, &status, WUNTRACED), peer->pid);
}

static inline void test_continue_peer(struct test_peer *peer)
{
	CHECK(!kill(peer->pid, SIGCONT));
}

#endif
