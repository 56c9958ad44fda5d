/* SPDX-License-Identifier: Apache-2.0 */
#include "datagram/ud_genuine.h"

#include "core.h"
#include "engine.h"
#include "link/link_listen.h"
#include "link/ports.h"
#include "process/progress.h"
#include "process/secret.h"
#include "process/sha256.h"
#include "process/user.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/*
 * For how long the kernel's answer holds. Long enough that it is not asked for each datagram, and that the last datagrams of
 * a process that has ended meanwhile are taken.
 */
#define ANSWER_NS 1000000000ull
/* How long a receiver may take to ask. */
#define LAST_WORD_NS 300000000ull

struct ud_genuine_state {
	_Atomic uint64_t sent_ns; /* when the last datagram was sent */
	_Atomic uint64_t counter; /* counts the datagrams that were signed */
	_Atomic uint64_t until_ns[1 << 16]; /* by port: the time until which a process of this user is taken to hold it */
};

ENGINE_PART(ud_genuine, NULL);

void ud_sign(struct ud_header *header)
{
	uint8_t mac[SHA256_BYTES];

	atomic_store_explicit(&engine->ud_genuine->sent_ns, progress_now_ns(), memory_order_relaxed);
	if (!secret_is_set())
		return;
	header->counter = atomic_fetch_add_explicit(&engine->ud_genuine->counter, 1, memory_order_relaxed);
	secret_sign(header, offsetof(struct ud_header, mac), mac);
	memcpy(header->mac, mac, sizeof(header->mac));
}

/* Once the process has ended, nobody can tell receivers whose its last datagrams are, and they drop what is not signed. */
__attribute__((destructor)) static void let_receivers_ask(void)
{
	if (engine && !secret_is_set() && progress_now_ns() - engine->ud_genuine->sent_ns < LAST_WORD_NS)
		usleep(LAST_WORD_NS / 1000);
}

static bool is_signed(const struct ud_header *header)
{
	uint8_t mac[SHA256_BYTES];

	secret_sign(header, offsetof(struct ud_header, mac), mac);
	return secure_equal(mac, header->mac, UD_MAC_BYTES);
}

static bool ask_whose(uint16_t port)
{
	bool is_own;
	int fd;

	progress_hold_forks();
	fd = link_connect_name(port);
	is_own = fd >= 0 && user_is_own_at(fd);
	if (fd >= 0)
		close(fd);
	progress_let_forks();
	return is_own;
}

bool ud_is_own_users(uint16_t port)
{
	_Atomic uint64_t *until_ns = &engine->ud_genuine->until_ns[port];
	uint64_t now = progress_now_ns();

	if (now < atomic_load_explicit(until_ns, memory_order_relaxed))
		return true;
	if (process_index_of_port(port) < 0 && !ask_whose(port))
		return false;
	atomic_store_explicit(until_ns, now + ANSWER_NS, memory_order_relaxed);
	return true;
}

/* The kernel drops what comes from elsewhere with an address of this host. */
static bool is_of_own_user(const struct sockaddr_in6 *from)
{
	union ibv_gid source;

	gid_from_address((const struct sockaddr *)from, &source);
	return gid_is_local(&source) && ud_is_own_users(ntohs(from->sin6_port)); /* sin_port is at the same offset */
}

bool ud_is_genuine(const struct ud_header *header, size_t length, const struct sockaddr_in6 *from)
{
	return length >= sizeof(*header) && length <= sizeof(*header) + UD_MAX_PAYLOAD && header->magic == UD_MAGIC &&
	       header->version == UD_WIRE_VERSION && header->source_qpn <= 0xffffff &&
	       (secret_is_set() ? is_signed(header) : is_of_own_user(from));
}
