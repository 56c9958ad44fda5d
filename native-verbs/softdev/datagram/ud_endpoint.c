/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "datagram/ud_endpoint.h"

#include "datagram/ud.h"
#include "datagram/ud_inlet.h"
#include "datagram/ud_proof.h"
#include "datagram/ud_socket.h"
#include "engine.h"
#include "link/ports.h"
#include "process/log.h"
#include "process/progress.h"
#include "process/secret.h"
#include "process/sha256.h"
#include "process/user.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	MAX_DATAGRAM = sizeof(struct ud_header) + UD_MAX_PAYLOAD,
	MAX_STRANGERS = 256, /* one more, and the one that has been at it longest goes */
};

#define RETRY_NS 100000000ull
#define PROOF_WAIT_NS 10000000000ull

struct endpoint {
	uint16_t port;
	struct progress_task start;
	struct progress_watch listener;
	struct ud_inlet udp;
	struct progress_timer retry; /* after a shortage of descriptors */
};

/* One process of this host that sends; with a secret it must prove soon that it knows it. */
struct sender {
	struct ud_inlet inlet;
	struct ud_proof proof;
	struct progress_watch proving; /* until it has */
	struct progress_timer limit;
	struct list stranger; /* in the list of strangers, while the limit runs */
};

struct ud_endpoint_state {
	/* Progress thread only. */
	struct list strangers;
	int stranger_count;

	pthread_mutex_t lock;
	struct endpoint *endpoints[PROCESS_MAX_PORTS];
	int endpoint_count;

	_Atomic uint64_t counter; /* of datagrams that were signed */
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
	engine->ud_endpoint->stranger_count -= list_has(&sender->stranger);
	list_remove(&sender->stranger);
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
	struct sender *sender = owner;

	if (error)
		end_sender(sender);
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
	if (engine->ud_endpoint->stranger_count == MAX_STRANGERS)
		end_sender(LIST_FIRST(&engine->ud_endpoint->strangers, struct sender, stranger));
	list_add(&engine->ud_endpoint->strangers, &sender->stranger);
	engine->ud_endpoint->stranger_count++;
	progress_timer_set(&sender->limit, progress_now_ns() + PROOF_WAIT_NS);
}

/* An error is an ICMP message about an earlier datagram, or what a stranger has sent: nothing is wrong with the socket. */
static void on_udp(void *owner, int error)
{
	(void)owner;
	(void)error;
}

static bool may_send(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return false;
	if (secret_is_set() || user_is_own(peer.uid))
		return true;
	log_warn("refused datagrams of pid %d, uid %d", (int)peer.pid, (int)peer.uid);
	return false;
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

static void add_sender(int fd)
{
	struct sender *sender = may_send(fd) ? calloc(1, sizeof(*sender)) : NULL;

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

static void pause_listening(struct endpoint *endpoint)
{
	progress_watch_remove(&endpoint->listener);
	progress_timer_set(&endpoint->retry, progress_now_ns() + RETRY_NS);
}

static void on_connect(void *owner, uint32_t events)
{
	struct endpoint *endpoint = owner;
	int fd = accept4(endpoint->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0) {
		add_sender(fd);
	} else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
		log_error("accept: %s", strerror(errno));
		pause_listening(endpoint);
	}
}

static void start_listening(void *owner)
{
	struct endpoint *endpoint = owner;
	int error = progress_watch_set(&endpoint->listener, EPOLLIN);

	if (!error)
		return;
	log_error("cannot listen for datagrams: %s", strerror(-error));
	pause_listening(endpoint);
}

static void start(void *owner)
{
	struct endpoint *endpoint = owner;
	int error = 0;

	start_listening(endpoint);
	if (secret_is_set())
		error = ud_inlet_open(&endpoint->udp);
	if (error)
		log_error("datagrams of other hosts will not be heard: %s", strerror(-error));
}

/* lock held. 0 or -errno. */
static int open_endpoint(uint16_t port)
{
	struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
	int fd = process_datagram_socket(port), error;

	if (!endpoint)
		return -ENOMEM;
	if (listen(fd, SOMAXCONN)) {
		error = -errno;
		free(endpoint);
		return error;
	}
	endpoint->port = port;
	endpoint->start = (struct progress_task){.callback = start, .owner = endpoint};
	endpoint->listener = (struct progress_watch){.fd = fd, .callback = on_connect, .owner = endpoint};
	endpoint->udp = (struct ud_inlet){
		.fd = process_udp_socket(port), .callback = on_udp, .owner = endpoint};
	endpoint->retry = (struct progress_timer){.callback = start_listening, .owner = endpoint};
	ud_enlarge_receive_buffer(endpoint->udp.fd);
	engine->ud_endpoint->endpoints[engine->ud_endpoint->endpoint_count++] = endpoint;
	progress_post(&endpoint->start); /* who connects meanwhile waits in the backlog */
	return 0;
}

int ud_open_endpoint(uint16_t port)
{
	int error = 0;
	bool open = false;

	pthread_mutex_lock(&engine->ud_endpoint->lock);
	for (int i = 0; i < engine->ud_endpoint->endpoint_count; i++)
		open |= engine->ud_endpoint->endpoints[i]->port == port;
	if (!open)
		error = open_endpoint(port);
	pthread_mutex_unlock(&engine->ud_endpoint->lock);
	return error;
}
