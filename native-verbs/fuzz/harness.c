/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "harness.h"

#include "core.h"
#include "exports.h"
#include "link/link_internal.h"
#include "link/link_listen.h"
#include "process/log.h"
#include "process/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CANARY_BYTES = 4096 /* a page, as a region has its place in one */, CANARY = 0xc5, UNTOUCHED = 0x3a };

static uint8_t *memory;
static uint64_t random_state;
static int lowest_fd;
static uint16_t peer_port;

_Noreturn void fuzz_fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: broken: %s\n", file, line, condition);
	abort();
}

/* Keys and nonces are the same in every run: an input repeats what it found. */
void __wrap_random_bytes(void *out, size_t length);
void __wrap_random_bytes(void *out, size_t length)
{
	uint8_t *bytes = out;

	for (size_t i = 0; i < length; i++) {
		random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = random_state >> 56;
	}
}

/* A refusal a line would be most of the time, and of the output. */
void __wrap_log_write(enum log_level level, const char *format, ...);
void __wrap_log_write(enum log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

static size_t region_offset(enum fuzz_region region)
{
	return CANARY_BYTES + (size_t)region * (FUZZ_REGION_BYTES + CANARY_BYTES);
}

uint8_t *fuzz_region_bytes(enum fuzz_region region)
{
	return memory + region_offset(region);
}

void fuzz_register(struct fuzz_device *device, enum fuzz_region region)
{
	static const unsigned int access[FUZZ_REGIONS] = {
		[FUZZ_SINK] = IBV_ACCESS_LOCAL_WRITE,
		[FUZZ_OPEN] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			      IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
		[FUZZ_READ_ONLY] = IBV_ACCESS_REMOTE_READ,
	};

	device->mr[region] = softverbs_ibv_reg_mr_iova2(device->pd, fuzz_region_bytes(region), FUZZ_REGION_BYTES,
							FUZZ_REGION_IOVA * (region + 1), access[region]);
	FUZZ_CHECK(device->mr[region]);
	device->keys[region] = device->mr[region]->rkey;
}

void fuzz_deregister(struct fuzz_device *device, enum fuzz_region region)
{
	FUZZ_CHECK(!softverbs_ibv_dereg_mr(device->mr[region]));
	device->mr[region] = NULL;
}

void fuzz_open_device(struct fuzz_device *device)
{
	struct ibv_device **list = softverbs_ibv_get_device_list(NULL);
	size_t size = region_offset(FUZZ_REGIONS);

	device->context = softverbs_ibv_open_device(list[0]);
	FUZZ_CHECK(device->context);
	softverbs_ibv_free_device_list(list);
	fcntl(device->context->async_fd, F_SETFL, O_NONBLOCK);
	device->pd = softverbs_ibv_alloc_pd(device->context);
	FUZZ_CHECK(device->pd);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FUZZ_CHECK(memory != MAP_FAILED);
	memset(memory, CANARY, size);
	for (int i = 0; i < FUZZ_REGIONS; i++) {
		memset(fuzz_region_bytes(i), UNTOUCHED, FUZZ_REGION_BYTES);
		fuzz_register(device, i);
	}
}

/* All bytes are the same. */
static bool is_filled(const uint8_t *bytes, size_t length, uint8_t value)
{
	return bytes[0] == value && !memcmp(bytes, bytes + 1, length - 1);
}

void fuzz_check_memory(void)
{
	for (int i = 0; i <= FUZZ_REGIONS; i++)
		FUZZ_CHECK(is_filled(memory + region_offset(i) - CANARY_BYTES, CANARY_BYTES, CANARY));
	FUZZ_CHECK(is_filled(fuzz_region_bytes(FUZZ_READ_ONLY), FUZZ_REGION_BYTES, UNTOUCHED));
}

void fuzz_drain_events(struct ibv_context *context)
{
	struct ibv_async_event event;

	while (!softverbs_ibv_get_async_event(context, &event))
		softverbs_ibv_ack_async_event(&event);
}

static int next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

void fuzz_begin(void)
{
	random_state = 1;
	lowest_fd = next_fd();
}

void fuzz_end(void)
{
	fuzz_pass_time(61 * 1000000000ull);
	fuzz_settle();
	FUZZ_CHECK(next_fd() == lowest_fd);
}

uint32_t fuzz_resolve_key(uint32_t key, const struct fuzz_device *device)
{
	return key - FUZZ_KEY < FUZZ_KEYS ? device->keys[key - FUZZ_KEY] : key;
}

void fuzz_resolve_frames(uint8_t *bytes, size_t length, const struct fuzz_device *device,
			 void (*visit)(struct frame *frame, uint8_t *payload, size_t payload_bytes))
{
	struct frame frame;
	size_t rest = length;

	while (rest >= sizeof(frame)) {
		size_t payload;

		memcpy(&frame, bytes, sizeof(frame));
		payload = rest - sizeof(frame) < frame.length ? rest - sizeof(frame) : frame.length;
		if (device) {
			frame.rkey = fuzz_resolve_key(frame.rkey, device);
			frame.imm = fuzz_resolve_key(frame.imm, device);
		}
		if (visit)
			visit(&frame, bytes + sizeof(frame), payload);
		memcpy(bytes, &frame, sizeof(frame));
		bytes += sizeof(frame) + payload;
		rest -= sizeof(frame) + payload;
	}
}

static bool drain(int fd)
{
	static uint8_t sink[65536];
	bool any = false;

	while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		any = true;
	return any;
}

/* An answer that fills the socket goes on when it has been taken. */
void fuzz_settle_with(int fd)
{
	do
		fuzz_settle();
	while (drain(fd));
}

void fuzz_send(int fd, const uint8_t *bytes, size_t length, bool in_pieces)
{
	size_t piece = 1;

	while (length) {
		size_t count = !in_pieces || piece > length ? length : piece;
		ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent <= 0)
			break;
		bytes += sent;
		length -= sent;
		piece = piece * 2 + 1;
		if (in_pieces)
			fuzz_pass_time(50 * 1000000ull); /* waits of the peer's making end */
		fuzz_settle_with(fd);
	}
	fuzz_settle_with(fd);
}

size_t fuzz_send_descriptors(int fd, const uint8_t *bytes, size_t length, const int *fds, int count)
{
	enum { MOST = 4 };
	union {
		char bytes[CMSG_SPACE(MOST * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {(void *)(uintptr_t)bytes, length};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = CMSG_SPACE(count * sizeof(int))};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), fds, count * sizeof(int));
	FUZZ_CHECK(sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)length || errno == EPIPE); /* the other end may have closed */
	fuzz_settle_with(fd);
	return length;
}

const uint8_t fuzz_peer_nonce[LINK_NONCE_BYTES] = {'f'};

void fuzz_send_client_handshake(int fd, enum link_kind kind)
{
	struct {
		struct frame first;
		struct link_hello hello;
		struct frame second;
		struct link_proof proof;
	} message = {
		.first = {.op = FRAME_HELLO, .length = sizeof(struct link_hello)},
		.hello = {.magic = LINK_MAGIC, .version = LINK_VERSION, .kind = kind, .nonce = {'f'}},
		.second = {.op = FRAME_PROOF, .length = sizeof(struct link_proof)},
	};

	memcpy(message.proof.key_id, secret_own_id(), SECRET_ID_BYTES);
	FUZZ_CHECK(send(fd, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message));
}

void fuzz_send_server_handshake(int fd, const uint8_t nonce[LINK_NONCE_BYTES])
{
	struct {
		struct frame first;
		struct link_hello hello;
		struct frame second;
		uint8_t proof[SHA256_BYTES];
	} message = {
		.first = {.op = FRAME_CHALLENGE, .length = sizeof(struct link_hello)},
		.hello = {.magic = LINK_MAGIC, .version = LINK_VERSION},
		.second = {.op = FRAME_WELCOME, .length = SHA256_BYTES},
	};

	memcpy(message.hello.nonce, nonce, LINK_NONCE_BYTES);
	FUZZ_CHECK(send(fd, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message));
}

uint16_t fuzz_peer_port(void)
{
	return peer_port;
}

/* Others may fuzz beside: the first name that is free. */
int fuzz_listen(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un name;
	socklen_t length;

	for (peer_port = FUZZ_PORT; peer_port < FUZZ_PORT + 900; peer_port++) {
		length = link_socket_name(peer_port, &name);
		if (!bind(fd, (struct sockaddr *)&name, length)) {
			FUZZ_CHECK(!listen(fd, 16));
			return fd;
		}
	}
	fuzz_fail(__FILE__, __LINE__, "a free name for the peer");
}

int fuzz_accept(int listener)
{
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

void fuzz_seed(const char *name, const void *bytes, size_t length)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", getenv("FUZZ_SEEDS"), name);
	file = fopen(path, "wbe");
	FUZZ_CHECK(file && fwrite(bytes, 1, length, file) == length && !fclose(file));
}

void fuzz_seeds_if_asked(void)
{
	if (!getenv("FUZZ_SEEDS"))
		return;
	fuzz_write_seeds();
	_exit(0);
}

struct fuzz_stream fuzz_stream(uint8_t first_control, uint8_t second_control)
{
	return (struct fuzz_stream){.bytes = {first_control, second_control}, .length = FUZZ_CONTROL_BYTES};
}

void fuzz_add(struct fuzz_stream *stream, const void *bytes, size_t length)
{
	FUZZ_CHECK(stream->length + length <= sizeof(stream->bytes));
	if (length)
		memcpy(stream->bytes + stream->length, bytes, length);
	stream->length += length;
}

void fuzz_add_frame(struct fuzz_stream *stream, struct frame frame, const void *payload)
{
	static const uint8_t filler[FUZZ_MAX_INPUT];

	fuzz_add(stream, &frame, sizeof(frame));
	fuzz_add(stream, payload ? payload : filler, frame.length);
}
