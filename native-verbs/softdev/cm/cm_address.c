/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and ports of ids. The rdma_cm port space of a host is its UDP port space: an id that is bound to a port
 * holds the UDP socket with that number.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "device/gid_table.h"
#include "engine.h"
#include "exports.h"
#include "fault/fault.h"
#include "lock.h"

enum { PACKET_LIFE_TIME = 16, DEFAULT_HOP_LIMIT = 64 };

socklen_t cm_address_length(const struct sockaddr *address)
{
	switch (address ? address->sa_family : AF_UNSPEC) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

bool cm_address_is_wildcard(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* A sockaddr_in6 has its port in the same place; an address that is not set yet is zeros. */
uint16_t cm_address_port(const struct sockaddr *address)
{
	return ((const struct sockaddr_in *)address)->sin_port;
}

struct cm_address_state {
	/*
	 * The protection domain of every id that was given none: one for the process, deallocated with the last id, as
	 * in librdmacm.
	 */
	pthread_mutex_t default_pd_lock;
	struct ibv_pd *default_pd; /* guarded by default_pd_lock, as is default_pd_users */
	unsigned int default_pd_users;
};

ENGINE_PART(cm_address, NULL);

static struct ibv_pd *hold_default_pd(struct ibv_context *context)
{
	HOLD_LOCK(&engine->cm_address->default_pd_lock);
	if (!engine->cm_address->default_pd && context)
		engine->cm_address->default_pd = softverbs_ibv_alloc_pd(context);
	engine->cm_address->default_pd_users += !!engine->cm_address->default_pd;
	return engine->cm_address->default_pd;
}

void cm_leave_device(struct cm_id *id)
{
	if (!id->holds_default_pd)
		return;
	id->holds_default_pd = false;
	HOLD_LOCK(&engine->cm_address->default_pd_lock);
	/* If a memory region still uses the protection domain, it is kept for the next id. */
	if (!--engine->cm_address->default_pd_users && !softverbs_ibv_dealloc_pd(engine->cm_address->default_pd))
		engine->cm_address->default_pd = NULL;
}

void cm_set_device(struct cm_id *id)
{
	id->id.verbs = device_cm_context();
	id->id.port_num = 1;
	if (id->id.pd)
		return;
	id->id.pd = hold_default_pd(id->id.verbs);
	id->holds_default_pd = id->id.pd;
}

void cm_set_path(struct cm_id *id)
{
	struct ibv_sa_path_rec *path = &id->path;
	struct ibv_port_attr port = {0};

	softverbs_ibv_query_port(id->id.verbs, id->id.port_num,
				 (struct _compat_ibv_port_attr *)&port);
	gid_from_address(&id->id.route.addr.src_addr, &path->sgid);
	gid_from_address(&id->id.route.addr.dst_addr, &path->dgid);
	path->hop_limit = DEFAULT_HOP_LIMIT;
	path->traffic_class = id->type_of_service;
	path->reversible = 1;
	path->numb_path = 1;
	path->pkey = htons(0xffff);
	path->mtu_selector = path->rate_selector = path->packet_life_time_selector =
		2; /* the code for "exactly" */
	path->mtu = port.active_mtu;
	path->rate = IBV_RATE_100_GBPS;
	path->packet_life_time = PACKET_LIFE_TIME;
	id->id.route.path_rec = path;
	id->id.route.num_paths = 1;
}

/* With EPOLLET an error that stays on the socket is reported once. */
int cm_hold_port(struct cm_id *id)
{
	id->udp_watch.callback = NULL;
	return progress_watch_set(&id->udp_watch, EPOLLET);
}

/*
 * A loopback address has no device until a destination is resolved. The kernel does the same: its cma_any_addr() treats
 * loopback as a wildcard, and programs find the addresses of devices by binding an id to each address of the host.
 */
static bool belongs_to_device(const struct sockaddr *address)
{
	union ibv_gid gid;

	gid_from_address(address, &gid);
	return !cm_address_is_wildcard(address) && !gid_is_loopback(&gid);
}

int cm_bind(struct cm_id *id, const struct sockaddr *address)
{
	int on = 1, v6_only = id->v6_only;
	socklen_t length = sizeof(struct sockaddr_storage);
	int fd, error;

	if (id->state != CM_IDLE)
		return -EINVAL;
	fd = socket(address->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (address->sa_family == AF_INET6 &&
	    (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only)) ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on))))
		goto close_socket;
	if (address->sa_family == AF_INET &&
	    setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)))
		goto close_socket;
	if (id->reuse_address && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		goto close_socket;
	if (bind(fd, address, cm_address_length(address)) ||
	    getsockname(fd, &id->id.route.addr.src_addr, &length))
		goto close_socket;
	id->udp_watch.fd = fd;
	error = cm_hold_port(id);
	if (error) {
		id->udp_watch.fd = -1;
		close(fd);
		return error;
	}
	id->state = CM_BOUND;
	if (belongs_to_device(address))
		cm_set_device(id);
	return 0;

close_socket:
	error = -errno;
	close(fd);
	return error;
}

void cm_unbind(struct cm_id *id)
{
	if (id->udp_watch.fd < 0)
		return;
	progress_watch_remove(&id->udp_watch);
	close(id->udp_watch.fd);
	id->udp_watch.fd = -1;
}

static int bind_on_thread(struct cm_id *id, void *address)
{
	return cm_bind(id, address);
}

int softverbs_rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	int error = fault_call(FAULT_BIND_ADDR);

	if (error)
		return cm_result(-error);
	if (!cm_address_length(address))
		return cm_result(-EINVAL);
	if (!device_cm_context())
		return -1;
	return cm_result(cm_run(to_cm_id(id), bind_on_thread, address));
}

/* A wildcard destination means this host. */
static void substitute_loopback(struct sockaddr_storage *address)
{
	if (!cm_address_is_wildcard((struct sockaddr *)address))
		return;
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

int cm_find_source(const struct sockaddr *destination, struct sockaddr_storage *source)
{
	socklen_t length = sizeof(*source);
	int error = 0;
	int fd = socket(destination->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, destination, cm_address_length(destination)) ||
	    getsockname(fd, (struct sockaddr *)source, &length))
		error = -errno;
	else
		((struct sockaddr_in *)source)->sin_port = 0;
	close(fd);
	return error;
}

struct resolution {
	const struct sockaddr *source, *destination;
};

static int resolve_on_thread(struct cm_id *id, void *argument)
{
	struct resolution *resolution = argument;
	struct rdma_addr *addr = &id->id.route.addr;
	struct sockaddr_storage destination = {0}, source;
	uint16_t port;
	int error;

	if (id->state != CM_IDLE && id->state != CM_BOUND)
		return -EINVAL;
	memcpy(&destination, resolution->destination, cm_address_length(resolution->destination));
	substitute_loopback(&destination);
	if (id->state == CM_IDLE && resolution->source) {
		error = cm_bind(id, resolution->source);
		if (error)
			return error;
	}
	if (id->state == CM_BOUND && addr->src_addr.sa_family != destination.ss_family)
		return -EINVAL;
	error = cm_find_source((struct sockaddr *)&destination, &source);
	if (error)
		return error;
	if (id->state == CM_IDLE) {
		error = cm_bind(id, (struct sockaddr *)&source);
		if (error)
			return error;
	} else if (cm_address_is_wildcard(&addr->src_addr)) {
		port = cm_address_port(&addr->src_addr);
		memcpy(&addr->src_storage, &source, sizeof(source));
		addr->src_sin.sin_port = port;
	}
	addr->dst_storage = destination;
	cm_set_device(id);
	id->state = CM_ADDRESS_RESOLVED;
	cm_report(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

int softverbs_rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *source,
				struct sockaddr *destination, int timeout_ms)
{
	struct resolution resolution = {.source = source, .destination = destination};
	int error;

	(void)timeout_ms; /* routing tables are local: the answer is immediate */
	if (!cm_address_length(destination) || (source && !cm_address_length(source)))
		return cm_result(-EINVAL);
	if (!device_cm_context())
		return -1;
	error = -fault_call(FAULT_RESOLVE_ADDR);
	if (!error)
		error = cm_run(to_cm_id(id), resolve_on_thread, &resolution);
	return error ? cm_result(error) : cm_complete(to_cm_id(id));
}

static int resolve_route_on_thread(struct cm_id *id, void *unused)
{
	(void)unused;
	if (id->state != CM_ADDRESS_RESOLVED)
		return -EINVAL;
	cm_set_path(id);
	id->state = CM_ROUTE_RESOLVED;
	cm_report(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

int softverbs_rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	int error = -fault_call(FAULT_RESOLVE_ROUTE);

	if (!error)
		error = cm_run(to_cm_id(id), resolve_route_on_thread, NULL);
	(void)timeout_ms;
	return error ? cm_result(error) : cm_complete(to_cm_id(id));
}
