/* SPDX-License-Identifier: Apache-2.0 */
/* The passive side up to the CONNECT_REQUEST: listeners, and the links that arrive for them. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "engine.h"
#include "fault/fault.h"
#include "link/link_fault.h"
#include "link/ports.h"
#include "process/log.h"

enum { DEFAULT_BACKLOG = 1024 };

struct cm_listen_state {
	struct list listeners; /* progress thread only */
};

ENGINE_PART(cm_listen, NULL);

static bool hears_v4(const struct cm_id *id)
{
	const struct sockaddr *own = &id->id.route.addr.src_addr;

	return own->sa_family == AF_INET || (cm_address_is_wildcard(own) && !id->v6_only);
}

static bool hears_v6(const struct cm_id *id)
{
	return id->id.route.addr.src_addr.sa_family == AF_INET6;
}

/* Returns true if the two listeners would share at least one address. */
static bool overlap(const struct cm_id *one, const struct cm_id *other)
{
	const struct rdma_addr *first = &one->id.route.addr, *second = &other->id.route.addr;
	union ibv_gid gid, other_gid;

	if (cm_address_port(&first->src_addr) != cm_address_port(&second->src_addr) ||
	    !((hears_v4(one) && hears_v4(other)) || (hears_v6(one) && hears_v6(other))))
		return false;
	if (cm_address_is_wildcard(&first->src_addr) || cm_address_is_wildcard(&second->src_addr))
		return true;
	gid_from_address(&first->src_addr, &gid);
	gid_from_address(&second->src_addr, &other_gid);
	return !memcmp(gid.raw, other_gid.raw, sizeof(gid.raw));
}

static int start_listening(struct cm_id *id, void *backlog)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	int error, off = 0;

	if (id->state == CM_IDLE) {
		error = cm_bind(id, (struct sockaddr *)&any);
		if (error)
			return error;
	}
	if (id->state != CM_BOUND)
		return -EINVAL;
	LIST_EACH(other, &engine->cm_listen->listeners)
		if (overlap(id, container_of_(other, struct cm_id, listener)))
			return -EADDRINUSE; /* ids may share an address, but only one of them may listen on it */
	/* A listener stops sharing its address, as in the kernel; otherwise another process could take its requests. */
	if (setsockopt(id->udp_watch.fd, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off)))
		return -errno;
	error = cm_serve_rendezvous(id);
	if (error)
		return error;
	id->backlog = *(int *)backlog;
	id->state = CM_LISTENING;
	list_add(&engine->cm_listen->listeners, &id->listener);
	log_info("cm: listens on port %d", ntohs(cm_address_port(&id->id.route.addr.src_addr)));
	return 0;
}

int softverbs_rdma_listen(struct rdma_cm_id *id, int backlog)
{
	int port = process_port_at(0), error = fault_call(FAULT_LISTEN);

	if (error)
		return cm_result(-error);

	if (port < 0)
		return cm_result(port);
	if (!device_cm_context())
		return -1;
	if (backlog <= 0 || backlog > DEFAULT_BACKLOG)
		backlog = DEFAULT_BACKLOG;
	return cm_result(cm_run(to_cm_id(id), start_listening, &backlog));
}

/*
 * Returns the listener for the address of the request. A listener that is bound to that address takes precedence over a
 * wildcard listener of its family or of both families.
 */
static struct cm_id *find_listener(const struct cm_request *request)
{
	struct cm_id *wildcard = NULL;
	union ibv_gid gid;
	bool is_v4;

	memcpy(gid.raw, request->destination, sizeof(gid.raw));
	is_v4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)gid.raw);
	LIST_EACH(at, &engine->cm_listen->listeners) {
		struct cm_id *id = container_of_(at, struct cm_id, listener);

		if (cm_address_port(&id->id.route.addr.src_addr) != request->destination_port ||
		    cm_is_datagram(id) != (request->datagrams == 1))
			continue;
		if (cm_address_is_wildcard(&id->id.route.addr.src_addr)) {
			if (is_v4 ? hears_v4(id) : hears_v6(id))
				wildcard = id;
			continue;
		}
		gid_from_address(&id->id.route.addr.src_addr, &gid);
		if (!memcmp(gid.raw, request->destination, sizeof(gid.raw)))
			return id;
	}
	return wildcard;
}

static void fill_address(struct sockaddr_storage *address, const uint8_t *raw, uint16_t port)
{
	union ibv_gid gid;

	memcpy(gid.raw, raw, sizeof(gid.raw));
	gid_to_address(&gid, ntohs(port), address);
}

static bool is_link_local(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* Creates the id of the new connection and reports its CONNECT_REQUEST on the channel of the listener. */
static int report_request(struct cm_id *listener, struct link *link,
			  const struct cm_request *request)
{
	struct cm_id *id = cm_create_id(listener->id.channel, listener->id.context, listener->id.ps,
					listener->id.qp_type);
	struct cm_event *event;

	if (!id)
		return -ENOMEM;
	event = cm_new_event(listener, id, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	if (!event) {
		cm_free_id(id);
		return -ENOMEM;
	}
	fill_address(&id->id.route.addr.src_storage, request->destination,
		     request->destination_port);
	fill_address(&id->id.route.addr.dst_storage, request->source, request->source_port);
	if (is_link_local(&id->id.route.addr.dst_addr)) /* the scope of our own address is the right one */
		id->id.route.addr.dst_sin6.sin6_scope_id = id->id.route.addr.src_sin6.sin6_scope_id;
	cm_set_device(id);
	cm_set_path(id);
	id->local.retry_count = request->queue_pair.retry_count;
	id->local.rnr_retry_count = request->queue_pair.rnr_retry_count;
	id->link = link;
	link_set_owner(link, &cm_connection_ops, id);
	id->state = CM_REQUEST_RECEIVED;

	if (!cm_is_datagram(id))
		cm_take_peer(id, &request->queue_pair, &event->event.param.conn);
	cm_set_private_data(event, request->private_data,
			    cm_is_datagram(id) ? CM_DATAGRAM_REQUEST_PRIVATE_DATA : CM_REQUEST_PRIVATE_DATA);
	atomic_fetch_add_explicit(&listener->unread_requests, 1, memory_order_relaxed);
	cm_push_event(event);
	return 0;
}

static void answer_and_close(struct link *link, enum cm_frame_op op, uint64_t reason)
{
	struct cm_reject reject = {{0}};
	struct frame frame = {.op = op, .arg = reason};

	if (op == CM_FRAME_REJECT)
		frame.length = sizeof(reject);
	link_send(link, &frame, &reject, NULL, 0);
	link_close_after_flush(link);
}

static void on_first_frame(struct link *link, void *owner, const struct frame *frame,
			   const void *payload, const int *fds, int fd_count)
{
	const struct cm_request *request = payload;
	struct cm_id *listener;

	(void)owner;
	link_close_fds(fds, fd_count);
	if (frame->op != CM_FRAME_REQUEST || frame->length != sizeof(*request) || fd_count ||
	    request->version != CM_WIRE_VERSION || !cm_cookie_is_valid(request) ||
	    !link_is_from(link, request->source)) {
		log_warn("cm: a link began with something else than a request");
		link_close(link);
		return;
	}
	listener = find_listener(request);
	if (!listener)
		answer_and_close(link, CM_FRAME_REJECT, CM_REJECT_NO_LISTENER);
	else if (link_fault_reason(link) >= 0)
		answer_and_close(link, CM_FRAME_REJECT, link_fault_reason(link));
	else if (atomic_load_explicit(&listener->unread_requests, memory_order_relaxed) >=
			 listener->backlog ||
		 report_request(listener, link, request))
		answer_and_close(link, CM_FRAME_BUSY, 0);
}

void cm_on_incoming_link(struct link *link)
{
	static const struct link_ops incoming_ops = {.on_frame = on_first_frame};

	link_set_owner(link, &incoming_ops, NULL); /* the link fails by itself if no frame follows in time */
}
