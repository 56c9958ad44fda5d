/* SPDX-License-Identifier: Apache-2.0 */
#include "datagram/ah.h"

#include "datagram/ud_wire.h"
#include "device/device.h"
#include "exports.h"
#include "fault/fault.h"
#include "process/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WAY_BACK_HOP_LIMIT = 0xff };

const struct ud_route *ah_route(struct ibv_ah *base, const struct softdev_pd *pd)
{
	struct softdev_ah *ah = to_ah(base);

	if (!handle_is(HANDLE_AH, base->handle, ah) || !pd_same(ah->pd, pd))
		return NULL;
	return &ah->route;
}

/* RoCE has no address without a GRH. 0 or a positive errno. */
static int find_route(const struct ibv_ah_attr *attr, struct ud_route *route)
{
	enum ibv_gid_type type;

	if (attr->port_num != 1 || !attr->is_global || gid_table_is_empty_at(attr->grh.sgid_index) ||
	    gid_table_entry(attr->grh.sgid_index, &route->source, &type))
		return EINVAL;
	route->destination = attr->grh.dgid;
	route->flow_label = attr->grh.flow_label & 0xfffff;
	route->traffic_class = attr->grh.traffic_class;
	route->hop_limit = attr->grh.hop_limit;
	route->v1 = type != IBV_GID_TYPE_ROCE_V2;
	route->local = gid_is_local(&route->destination);
	route->group = gid_is_multicast(&route->destination);
	return 0;
}

struct ibv_ah *softverbs_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ud_route route;
	struct softdev_ah *ah;
	uint32_t handle;
	int error = is_inherited(pd->context) ? EIO : 0;

	if (!error && (!attr || !handle_is(HANDLE_PD, pd->handle, pd)))
		error = EINVAL;
	if (!error)
		error = fault_call(FAULT_CREATE_AH);
	if (!error)
		error = find_route(attr, &route);
	if (error)
		return null_with(error);
	ah = handle_new(HANDLE_AH, sizeof(*ah), &handle);
	if (!ah)
		return NULL;
	ah->route = route;
	ah->pd = to_pd(pd);
	ah->base.context = pd->context;
	ah->base.pd = pd;
	ah->base.handle = handle;
	atomic_fetch_add(&ah->pd->users, 1);
	return &ah->base;
}

int softverbs_ibv_destroy_ah(struct ibv_ah *base)
{
	struct softdev_ah *ah = to_ah(base);
	int error = is_inherited(base->context) ? EIO : handle_remove(HANDLE_AH, base->handle, ah, NULL);

	if (error)
		return error;
	atomic_fetch_sub(&ah->pd->users, 1);
	free(ah);
	return 0;
}

/*
 * Returns the GID table entry at which a datagram arrived. A datagram to an address without an entry (127.0.0.2) is
 * answered from the primary address.
 */
static uint8_t gid_index(const union ibv_gid *wanted, enum ibv_gid_type wanted_type)
{
	union ibv_gid gid;
	enum ibv_gid_type type;

	for (int i = 0; i <= UINT8_MAX && !gid_table_entry(i, &gid, &type); i++)
		if (type == wanted_type && !memcmp(&gid, wanted, sizeof(gid)))
			return i;
	return wanted_type == IBV_GID_TYPE_ROCE_V2;
}

int softverbs_ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
				  struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct ud_return back;

	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	if (port != 1 || !ud_parse_grh((const uint8_t *)grh, &back))
		return minus_one_with(EINVAL);
	attr->is_global = 1;
	attr->grh.dgid = back.source;
	attr->grh.sgid_index = gid_index(&back.destination, back.type);
	attr->grh.flow_label = back.flow_label;
	attr->grh.traffic_class = back.traffic_class;
	attr->grh.hop_limit = WAY_BACK_HOP_LIMIT;
	return 0;
}

struct ibv_ah *softverbs_ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
					       uint8_t port)
{
	struct ibv_ah_attr attr;

	if (softverbs_ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return softverbs_ibv_create_ah(pd, &attr);
}
