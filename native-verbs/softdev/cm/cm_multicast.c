/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups that ids have joined. Ethernet has no subnet manager to ask, so a join succeeds at once, and attaches the queue
 * pair of the id. Application threads, one at a time for an id.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "exports.h"

enum { GROUP_QPN = 0xffffff };

/* In the list of its id. */
struct cm_group {
	struct list place;
	struct sockaddr_storage address;
	union ibv_gid gid;
	void *context;
	bool attached;
};

static struct cm_group *first_group(const struct cm_id *id)
{
	return LIST_FIRST(&id->groups, struct cm_group, place);
}

/* The event of a join; its private data is the context that the program gave. */
static int report_join(struct cm_id *id, void *argument)
{
	const struct cm_group *group = argument;
	struct cm_event *event;
	struct rdma_ud_param *param;

	if (!id->id.verbs || (id->state != CM_BOUND && id->state != CM_ADDRESS_RESOLVED && id->state != CM_ROUTE_RESOLVED &&
			      id->state != CM_CONNECTED))
		return -EINVAL;
	event = cm_new_event(id, id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	if (!event)
		return -ENOMEM;
	param = &event->event.param.ud;
	param->private_data = group->context;
	cm_fill_path(id, &param->ah_attr);
	param->ah_attr.grh.dgid = group->gid;
	param->qp_num = GROUP_QPN;
	param->qkey = RDMA_UDP_QKEY;
	cm_push_event(event);
	return 0;
}

static void leave(struct cm_id *id, struct cm_group *group)
{
	if (group->attached && id->id.qp)
		softverbs_ibv_detach_mcast(id->id.qp, &group->gid, 0);
	list_remove(&group->place);
	free(group);
}

static int join(struct cm_id *id, const struct sockaddr *address, bool send_only, void *context)
{
	struct cm_group *group = cm_address_length(address) ? calloc(1, sizeof(*group)) : NULL;
	int error;

	if (!group)
		return cm_result(cm_address_length(address) ? -ENOMEM : -EINVAL);
	memcpy(&group->address, address, cm_address_length(address));
	gid_from_address(address, &group->gid);
	group->context = context;
	list_add(&id->groups, &group->place);
	error = gid_is_multicast(&group->gid) && cm_is_datagram(id) ? 0 : -EINVAL;
	if (!error && id->id.qp && !send_only) {
		error = -softverbs_ibv_attach_mcast(id->id.qp, &group->gid, 0);
		group->attached = !error;
	}
	if (!error)
		error = cm_run(id, report_join, group);
	if (!error)
		return cm_complete(id);
	leave(id, group);
	return cm_result(error);
}

int softverbs_rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *address, void *context)
{
	return join(to_cm_id(id), address, false, context);
}

int softverbs_rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	bool has_flags = attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (!(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_ADDRESS) || attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED ||
	    (has_flags && attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED))
		return cm_result(-EINVAL);
	return join(to_cm_id(id), attr->addr, has_flags && attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context);
}

int softverbs_rdma_leave_multicast(struct rdma_cm_id *public_id, struct sockaddr *address)
{
	struct cm_id *id = to_cm_id(public_id);
	size_t length = cm_address_length(address);

	LIST_EACH(at, &id->groups) {
		struct cm_group *group = container_of_(at, struct cm_group, place);

		if (length > 0 && !memcmp(&group->address, address, length)) {
			leave(id, group);
			return 0;
		}
	}
	return cm_result(-EADDRNOTAVAIL);
}

void cm_leave_groups(struct cm_id *id)
{
	while (first_group(id))
		leave(id, first_group(id));
}
