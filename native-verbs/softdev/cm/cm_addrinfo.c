/* SPDX-License-Identifier: Apache-2.0 */
/* Name resolution for rdma_create_ep(). */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"

/* Returns 0 or EAI_MEMORY. */
static int copy_address(const struct sockaddr *address, socklen_t length, struct sockaddr **out,
			socklen_t *length_out)
{
	*out = malloc(length);
	if (!*out)
		return EAI_MEMORY;
	memcpy(*out, address, length);
	*length_out = length;
	return 0;
}

/* A destination without a route is not an error here; rdma_resolve_addr() reports it. */
static int add_source(struct rdma_addrinfo *info)
{
	struct sockaddr_storage source;

	if (cm_find_source(info->ai_dst_addr, &source))
		return 0;
	return copy_address((struct sockaddr *)&source, cm_address_length((struct sockaddr *)&source),
			    &info->ai_src_addr, &info->ai_src_len);
}

static int take_found(struct rdma_addrinfo *info, const struct addrinfo *found)
{
	bool passive = info->ai_flags & RAI_PASSIVE;
	char **name = passive ? &info->ai_src_canonname : &info->ai_dst_canonname;

	info->ai_family = found->ai_family;
	if (found->ai_canonname && !(*name = strdup(found->ai_canonname)))
		return EAI_MEMORY;
	return passive ? copy_address(found->ai_addr, found->ai_addrlen, &info->ai_src_addr, &info->ai_src_len)
		       : copy_address(found->ai_addr, found->ai_addrlen, &info->ai_dst_addr, &info->ai_dst_len);
}

static int resolve_names(const char *node, const char *service, const struct rdma_addrinfo *hints,
			 struct rdma_addrinfo *info)
{
	struct addrinfo wanted = {
		.ai_family = hints->ai_flags & RAI_FAMILY ? hints->ai_family : AF_UNSPEC,
		.ai_socktype = info->ai_qp_type == IBV_QPT_UD ? SOCK_DGRAM : SOCK_STREAM,
		.ai_protocol = info->ai_port_space == RDMA_PS_TCP   ? IPPROTO_TCP
			       : info->ai_port_space == RDMA_PS_UDP ? IPPROTO_UDP
								    : 0,
	};
	struct addrinfo *found;
	int error;

	if (hints->ai_flags & RAI_PASSIVE)
		wanted.ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		wanted.ai_flags |= AI_NUMERICHOST;
	error = getaddrinfo(node, service, &wanted, &found);
	if (error)
		return error;
	error = take_found(info, found);
	freeaddrinfo(found);
	return error;
}

/* Fills from the hints what name resolution has left open. */
static int take_hints(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints)
{
	int error = 0;

	if (!info->ai_dst_addr && hints->ai_dst_addr && !(info->ai_flags & RAI_PASSIVE))
		error = copy_address(hints->ai_dst_addr, hints->ai_dst_len, &info->ai_dst_addr,
				     &info->ai_dst_len);
	if (!error && !info->ai_src_addr && hints->ai_src_addr)
		error = copy_address(hints->ai_src_addr, hints->ai_src_len, &info->ai_src_addr,
				     &info->ai_src_len);
	if (error)
		return error;
	if (!info->ai_src_addr && !info->ai_dst_addr)
		return EAI_NONAME;
	if (!info->ai_family)
		info->ai_family = info->ai_dst_addr ? info->ai_dst_addr->sa_family : info->ai_src_addr->sa_family;
	return info->ai_src_addr || (info->ai_flags & RAI_NOROUTE) ? 0 : add_source(info);
}

static void choose_kind(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints)
{
	info->ai_flags = hints->ai_flags;
	info->ai_port_space = hints->ai_port_space;
	info->ai_qp_type = hints->ai_qp_type;
	if (!info->ai_port_space)
		info->ai_port_space = info->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (!info->ai_qp_type)
		info->ai_qp_type =
			info->ai_port_space == RDMA_PS_UDP || info->ai_port_space == RDMA_PS_IPOIB
				? IBV_QPT_UD
				: IBV_QPT_RC;
}

int softverbs_rdma_getaddrinfo(const char *node, const char *service,
			       const struct rdma_addrinfo *hints, struct rdma_addrinfo **result)
{
	static const struct rdma_addrinfo no_hints;
	struct rdma_addrinfo *info;
	int error = 0;

	if (!node && !service && !hints)
		return cm_result(-EINVAL);
	if (!hints)
		hints = &no_hints;
	info = calloc(1, sizeof(*info));
	if (!info)
		return cm_result(-ENOMEM);
	choose_kind(info, hints);
	if (node || service)
		error = resolve_names(node, service, hints, info);
	if (!error)
		error = take_hints(info, hints);
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
