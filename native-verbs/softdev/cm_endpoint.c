/* SPDX-License-Identifier: Apache-2.0 */
/* Name resolution and the endpoint calls, which make one synchronous id out of an address. */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cm.h"
#include "cm_exports.h"

enum { RESOLVE_TIMEOUT_MS = 2000 };

static struct sockaddr *copy_address(const struct sockaddr *address, socklen_t length,
				     socklen_t *length_out)
{
	struct sockaddr *copy = malloc(length);

	if (copy) {
		memcpy(copy, address, length);
		*length_out = length;
	}
	return copy;
}

/* A destination without a route is no error here; rdma_resolve_addr() will tell. */
static void add_source(struct rdma_addrinfo *info)
{
	struct sockaddr_storage source;

	if (!cm_find_source(info->ai_dst_addr, &source))
		info->ai_src_addr = copy_address((struct sockaddr *)&source,
						 cm_address_length((struct sockaddr *)&source),
						 &info->ai_src_len);
}

static int fill_info(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints,
		     const struct addrinfo *found)
{
	info->ai_family = found->ai_family;
	if (info->ai_flags & RAI_PASSIVE) {
		info->ai_src_addr =
			copy_address(found->ai_addr, found->ai_addrlen, &info->ai_src_len);
		if (!info->ai_src_addr)
			return EAI_MEMORY;
		if (found->ai_canonname)
			info->ai_src_canonname = strdup(found->ai_canonname);
		return 0;
	}
	info->ai_dst_addr = copy_address(found->ai_addr, found->ai_addrlen, &info->ai_dst_len);
	if (!info->ai_dst_addr)
		return EAI_MEMORY;
	if (found->ai_canonname)
		info->ai_dst_canonname = strdup(found->ai_canonname);
	if (hints->ai_src_len && hints->ai_src_addr) {
		info->ai_src_addr =
			copy_address(hints->ai_src_addr, hints->ai_src_len, &info->ai_src_len);
		return info->ai_src_addr ? 0 : EAI_MEMORY;
	}
	if (!(info->ai_flags & RAI_NOROUTE))
		add_source(info);
	return 0;
}

static int resolve_names(const char *node, const char *service, const struct rdma_addrinfo *hints,
			 struct rdma_addrinfo *info)
{
	struct addrinfo wanted = {
		.ai_family = hints->ai_flags & RAI_FAMILY ? hints->ai_family : AF_UNSPEC,
		.ai_socktype = info->ai_qp_type == IBV_QPT_UD ? SOCK_DGRAM : SOCK_STREAM};
	struct addrinfo *found;
	int error;

	if (hints->ai_flags & RAI_PASSIVE)
		wanted.ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		wanted.ai_flags |= AI_NUMERICHOST;
	error = getaddrinfo(node, service, &wanted, &found);
	if (error)
		return error;
	error = fill_info(info, hints, found);
	freeaddrinfo(found);
	return error;
}

int softverbs_rdma_getaddrinfo(const char *node, const char *service,
			       const struct rdma_addrinfo *hints, struct rdma_addrinfo **result)
{
	static const struct rdma_addrinfo no_hints;
	struct rdma_addrinfo *info;
	int error;

	if (!node && !service && (!hints || !hints->ai_src_addr))
		return cm_result(-EINVAL);
	if (!hints)
		hints = &no_hints;
	info = calloc(1, sizeof(*info));
	if (!info)
		return cm_result(-ENOMEM);
	info->ai_flags = hints->ai_flags;
	info->ai_port_space = hints->ai_port_space;
	info->ai_qp_type = hints->ai_qp_type;
	if (!info->ai_port_space)
		info->ai_port_space = info->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (!info->ai_qp_type)
		info->ai_qp_type = info->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	if (node || service) {
		error = resolve_names(node, service, hints, info);
	} else {
		info->ai_family = hints->ai_src_addr->sa_family;
		info->ai_src_addr =
			copy_address(hints->ai_src_addr, hints->ai_src_len, &info->ai_src_len);
		error = info->ai_src_addr ? 0 : EAI_MEMORY;
	}
	if (error) {
		softverbs_rdma_freeaddrinfo(info);
		return error;
	}
	*result = info;
	return 0;
}

void softverbs_rdma_freeaddrinfo(struct rdma_addrinfo *list)
{
	struct rdma_addrinfo *next;

	for (; list; list = next) {
		next = list->ai_next;
		free(list->ai_src_addr);
		free(list->ai_dst_addr);
		free(list->ai_src_canonname);
		free(list->ai_dst_canonname);
		free(list);
	}
}

static int open_passive(struct cm_id *id, const struct rdma_addrinfo *address, struct ibv_pd *pd,
			const struct ibv_qp_init_attr *attr)
{
	if (softverbs_rdma_bind_addr(&id->id, address->ai_src_addr))
		return -1;
	id->id.pd = pd;
	if (attr) {
		id->has_request_attr = true;
		id->request_attr = *attr;
		id->request_attr.qp_type = (enum ibv_qp_type)address->ai_qp_type;
	}
	return 0;
}

static int open_active(struct cm_id *id, const struct rdma_addrinfo *address, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *attr)
{
	if (softverbs_rdma_resolve_addr(&id->id, address->ai_src_addr, address->ai_dst_addr,
					RESOLVE_TIMEOUT_MS) ||
	    softverbs_rdma_resolve_route(&id->id, RESOLVE_TIMEOUT_MS))
		return -1;
	if (!attr)
		return 0;
	attr->qp_type = (enum ibv_qp_type)address->ai_qp_type;
	return softverbs_rdma_create_qp(&id->id, pd, attr);
}

int softverbs_rdma_create_ep(struct rdma_cm_id **id_out, struct rdma_addrinfo *address,
			     struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *id;
	int error;

	if (cm_open_id(NULL, &id, NULL, (enum rdma_port_space)address->ai_port_space,
		       (enum ibv_qp_type)address->ai_qp_type))
		return -1;
	error = address->ai_flags & RAI_PASSIVE ? open_passive(to_cm_id(id), address, pd, attr)
						: open_active(to_cm_id(id), address, pd, attr);
	if (error) {
		error = -errno;
		softverbs_rdma_destroy_id(id);
		return cm_result(error);
	}
	*id_out = id;
	return 0;
}

void softverbs_rdma_destroy_ep(struct rdma_cm_id *id)
{
	softverbs_rdma_destroy_qp(id);
	softverbs_rdma_destroy_id(id);
}

int softverbs_rdma_get_request(struct rdma_cm_id *public_listener, struct rdma_cm_id **id)
{
	struct cm_id *listener = to_cm_id(public_listener);
	struct ibv_qp_init_attr attr = listener->request_attr;
	struct rdma_cm_event *event;
	int error;

	if (!listener->sync)
		return cm_result(-EINVAL);
	if (public_listener->event) {
		softverbs_rdma_ack_cm_event(public_listener->event);
		public_listener->event = NULL;
	}
	if (softverbs_rdma_get_cm_event(public_listener->channel, &event))
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		softverbs_rdma_ack_cm_event(event);
		return cm_result(-EINVAL);
	}
	if (listener->has_request_attr &&
	    softverbs_rdma_create_qp(event->id, public_listener->pd, &attr)) {
		error = -errno;
		softverbs_rdma_destroy_id(event->id);
		softverbs_rdma_ack_cm_event(event);
		return cm_result(error);
	}
	*id = event->id;
	(*id)->event = event;
	return 0;
}
