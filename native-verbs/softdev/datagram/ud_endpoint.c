/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "datagram/ud_endpoint.h"

#include "datagram/ud.h"
#include "datagram/ud_inlet.h"
#include "datagram/ud_proof.h"
#include "datagram/ud_socket.h"
#include "engine.h"
#include "link/link_listen.h"
#include "link/ports.h"
#include "lock.h"
#include "process/log.h"
#include "process/progress.h"
#include "process/secret.h"
#include "process/sha256.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { MAX_DATAGRAM = sizeof(struct ud_header) + UD_MAX_PAYLOAD };

#define PROOF_WAIT_NS 10000000000ull

struct endpoint {
	bool open;
	struct link_listener listener;
	struct progress_task start;
	struct ud_inlet udp;
};

/* A process of this host that sends. If there is a secret, it must soon prove that it knows it. */
struct sender {
	struct ud_inlet inlet;
	struct ud_proof proof;
	struct progress_watch proving; /* until it has proved that */
	struct progress_timer limit;
	struct stranger stranger; /* while the limit runs */
};

struct ud_endpoint_state {
	struct strangers strangers;

	pthread_mutex_t lock; /* guards endpoint.open */
	struct endpoint endpoints[PROCESS_MAX_PORTS];

	_Atomic uint64_t counter; /* counts the datagrams that were signed */
};

ENGINE_PART(ud_endpoint, NULL);

void ud_sign(struct ud_header *header)
{
	uint8_t mac[SHA256_BYTES];

	header->counter = atomic_fetch_add_explicit(&engine->ud_endpoint->counter, 1, memory_order_relaxed);
	secret_sign(header, offsetof(struct ud_header, mac), mac);
	memcpy(header->mac, mac, sizeof(header->mac));
}

static bool is_signed(const struct ud_header *header)
{
	uint8_t mac[SHA256_BYTES];

	secret_sign(header, offsetof(struct ud_header, mac), mac);
	return secure_equal(mac, header->mac, UD_MAC_BYTES);
}

bool ud_is_genuine(const struct ud_header *header, size_t length)
{
	return length >= sizeof(*header) && length <= MAX_DATAGRAM && header->magic == UD_MAGIC &&
	       header->version == UD_WIRE_VERSION && header->source_qpn <= 0xffffff && (!secret_is_set() || is_signed(header));
}

static void stop_being_a_stranger(struct sender *sender)
{
	progress_timer_cancel(&sender->limit);
	stranger_leave(&sender->stranger);
}

static void end_sender(void *owner)
{
	struct sender *sender = owner;

	stop_being_a_stranger(sender);
	progress_watch_remove(&sender->proving);
	ud_inlet_close(&sender->inlet);
	close(sender->inlet.fd);
	free(sender);
}

static void on_sender(void *owner, int error)
{
	(void)error;
	end_sender(owner);
}

static void on_proof(void *owner, uint32_t events)
{
	struct sender *sender = owner;
	int result = ud_proof_receiver(&sender->proof, sender->inlet.fd);

	(void)events;
	if (!result)
		return;
	if (result > 0) {
		stop_being_a_stranger(sender);
		progress_watch_remove(&sender->proving);
		result = ud_inlet_open(&sender->inlet);
	}
	if (result)
		end_sender(sender);
}

static void add_stranger(struct sender *sender)
{
	stranger_enter(&engine->ud_endpoint->strangers, &sender->stranger, 0, end_sender, sender);
	progress_timer_set(&sender->limit, progress_now_ns() + PROOF_WAIT_NS);
}

/* 0 or -errno. */
static int ask_for_proof(struct sender *sender)
{
	int error = ud_proof_begin(&sender->proof, sender->inlet.fd);

	if (!error)
		error = progress_watch_set(&sender->proving, EPOLLIN);
	if (!error)
		add_stranger(sender);
	return error;
}

static void on_connection(int fd, uint16_t port)
{
	struct sender *sender;
	struct ucred peer = {0};

	if (!ud_may_talk(fd, &peer)) {
		log_warn("refused datagrams of pid %d, uid %d to port %u", (int)peer.pid, (int)peer.uid, port);
		close(fd);
		return;
	}
	sender = calloc(1, sizeof(*sender));
	if (!sender) {
		close(fd);
		return;
	}
	sender->inlet = (struct ud_inlet){.fd = fd, .lossless = true, .callback = on_sender, .owner = sender};
	sender->limit = (struct progress_timer){.callback = end_sender, .owner = sender};
	sender->proving = (struct progress_watch){.fd = fd, .callback = on_proof, .owner = sender};
	if (secret_is_set() ? ask_for_proof(sender) : ud_inlet_open(&sender->inlet))
		end_sender(sender);
}

static void start_udp(void *owner)
{
	struct endpoint *endpoint = owner;
	int error = ud_inlet_open(&endpoint->udp);

	if (error)
		log_error("datagrams of other hosts will not be heard: %s", strerror(-error));
}

/* Called with the lock held. */
static void start(struct endpoint *endpoint, uint16_t port, int fd)
{
	endpoint->open = true;
	link_accept_on(&endpoint->listener, fd, port, on_connection, &engine->ud_endpoint->strangers);
	if (!secret_is_set())
		return;
	/* No callback: an error is an ICMP message about an earlier datagram, or something that a stranger has sent. */
	endpoint->udp = (struct ud_inlet){.fd = process_socket(port, PORT_UDP)};
	endpoint->start = (struct progress_task){.callback = start_udp, .owner = endpoint};
	ud_enlarge_receive_buffer(endpoint->udp.fd);
	progress_post(&endpoint->start);
}

int ud_open_endpoint(uint16_t port)
{
	struct endpoint *endpoint = &engine->ud_endpoint->endpoints[process_index_of_port(port)];
	int fd = process_socket(port, PORT_DATAGRAMS);

	HOLD_LOCK(&engine->ud_endpoint->lock);
	if (endpoint->open)
		return 0;
	if (listen(fd, SOMAXCONN))
		return -errno;
	start(endpoint, port, fd);
	return 0;
}
