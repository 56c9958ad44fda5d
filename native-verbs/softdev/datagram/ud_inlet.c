/* SPDX-License-Identifier: Apache-2.0 */
#include "datagram/ud_inlet.h"

#include "datagram/ud_genuine.h"
#include "datagram/ud_receive.h"
#include "engine.h"
#include "link/ports.h"
#include "process/log.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { DATAGRAMS_PER_TURN = 64 };

struct port {
	atomic_bool open;
	struct progress_task start;
	struct ud_inlet inlet;
};

struct ud_inlet_state {
	struct {
		struct ud_header header;
		uint8_t payload[UD_MAX_PAYLOAD];
	} datagram; /* the one that is being received; there is one progress thread */
	struct port ports[PROCESS_MAX_PORTS];
};

ENGINE_PART(ud_inlet, NULL);

/* An error is an ICMP message about an earlier datagram. */
static void on_event(void *owner, uint32_t events)
{
	struct ud_inlet *inlet = owner;
	struct ud_header *header = &engine->ud_inlet->datagram.header;

	(void)events;
	for (int i = 0; i < DATAGRAMS_PER_TURN; i++) {
		struct sockaddr_in6 from;
		socklen_t length = sizeof(from);
		ssize_t bytes = recvfrom(inlet->watch.fd, &engine->ud_inlet->datagram, sizeof(engine->ud_inlet->datagram), MSG_TRUNC,
					 (struct sockaddr *)&from, &length);

		if (bytes < 0)
			return;
		if (ud_is_genuine(header, bytes, &from))
			inlet->on_datagram(inlet->owner, header, engine->ud_inlet->datagram.payload, bytes - sizeof(*header));
	}
}

/* Makes room for a burst, because UDP has no back-pressure; more than the limit of the host, where that is allowed. */
static void enlarge_buffer(int fd)
{
	int most = 64 << 20, usual = 4 << 20;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &most, sizeof(most)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &usual, sizeof(usual));
}

int ud_inlet_open(struct ud_inlet *inlet)
{
	enlarge_buffer(inlet->watch.fd);
	inlet->watch.callback = on_event;
	inlet->watch.owner = inlet;
	return progress_watch_set(&inlet->watch, EPOLLIN);
}

static void start(void *owner)
{
	struct port *port = owner;
	int error = ud_inlet_open(&port->inlet);

	if (error)
		log_error("datagrams will not be heard: %s", strerror(-error));
}

int ud_open_port(struct softdev_qp *qp)
{
	uint16_t number = qp->base.qp_num >> 8;
	struct port *port = &engine->ud_inlet->ports[process_index_of_port(number)];

	if (atomic_exchange(&port->open, true))
		return 0;
	port->inlet = (struct ud_inlet){.watch.fd = process_socket(number, PORT_UDP), .on_datagram = ud_deliver};
	port->start = (struct progress_task){.callback = start, .owner = port};
	progress_post(&port->start);
	return 0;
}
