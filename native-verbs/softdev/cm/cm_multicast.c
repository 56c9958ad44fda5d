/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups that ids have joined. Ethernet has no subnet manager to ask, so a join succeeds at once; the queue pair of the
 * id is attached when the application reads RDMA_CM_EVENT_MULTICAST_JOIN, as in librdmacm, and detached when it leaves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "datagram/ud_wire.h"
#include "exports.h"

/* In the list of its id; guarded by the id's event_lock. */
struct cm_group {
	struct cm_group *next;
	struct sockaddr_storage address;
	union ibv_gid gid;
	void *context;
	bool send_only;
	bool attached;
};

static int may_join(struct cm_id *id, void *unused)
{
	(void)unused;
	switch (id->state) {
	case CM_BOUND:
	case CM_ADDRESS_RESOLVED:
	case CM_ROUTE_RESOLVED:
	case CM_CONNECTED:
		return id->id.verbs && cm_is_datagram(id) ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

static int report_join(struct cm_id *id, void *argument)
{
	struct cm_group *group = argument;
	struct cm_event *event = cm_new_event(id, id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	struct rdma_ud_param *param;

	if (!event)
		return -ENOMEM;
	event->group = group;
	param = &event->event.param.ud;
	param->private_data = group->context;
	cm_fill_path(id, &param->ah_attr);
	param->ah_attr.grh.dgid = group->gid;
	param->qp_num = UD_MULTICAST_QPN;
	param->qkey = RDMA_UDP_QKEY;
	cm_push_event(event);
	return 0;
}

static void add(struct cm_id *id, struct cm_group *group)
{
	pthread_mutex_lock(&id->event_lock);
	group->next = id->groups;
	id->groups = group;
	pthread_mutex_unlock(&id->event_lock);
}

/* Takes the first one of that address out of the list; NULL if there is none. */
static struct cm_group *take(struct cm_id *id, const struct sockaddr *address)
{
	struct cm_group **place, *group;

	pthread_mutex_lock(&id->event_lock);
	place = &id->groups;
	while (*place && memcmp(&(*place)->address, address, cm_address_length(address)))
		place = &(*place)->next;
	group = *place;
	if (group)
		*place = group->next;
	pthread_mutex_unlock(&id->event_lock);
	return group;
}

static int join(struct cm_id *id, const struct sockaddr *address, bool send_only, void *context)
{
	struct cm_group *group;
	int error = cm_address_length(address) ? cm_run(id, may_join, NULL) : -EINVAL;

	if (error)
		return cm_result(error);
	group = calloc(1, sizeof(*group));
	if (!group)
		return cm_result(-ENOMEM);
	memcpy(&group->address, address, cm_address_length(address));
	gid_from_address(address, &group->gid);
	group->context = context;
	group->send_only = send_only;
	if (!gid_is_multicast(&group->gid)) {
		free(group);
		return cm_result(-EINVAL);
	}
	add(id, group);
	error = cm_run(id, report_join, group);
	if (!error)
		return cm_complete(id);
	free(take(id, address));
	return cm_result(error);
}

int softverbs_rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *address, void *context)
{
	return join(to_cm_id(id), address, false, context);
}

int softverbs_rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
				     void *context)
{
	bool has_flags = attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (!(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_ADDRESS) ||
	    attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED ||
	    (has_flags && attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED))
		return cm_result(-EINVAL);
	return join(to_cm_id(id), attr->addr,
		    has_flags && attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context);
}

int cm_finish_join(struct cm_id *id, struct cm_group *group)
{
	int error;

	if (!id->id.qp || group->send_only)
		return 0;
	error = softverbs_ibv_attach_mcast(id->id.qp, &group->gid, 0);
	pthread_mutex_lock(&id->event_lock);
	group->attached = !error;
	pthread_mutex_unlock(&id->event_lock);
	return -error;
}

/* One that is attached is not any more from here on; false if none is. Detaching waits for the progress thread: without the lock. */
static bool take_attached(struct cm_id *id, union ibv_gid *gid)
{
	struct cm_group *group;

	pthread_mutex_lock(&id->event_lock);
	for (group = id->groups; group && !group->attached; group = group->next)
		;
	if (group) {
		group->attached = false;
		*gid = group->gid;
	}
	pthread_mutex_unlock(&id->event_lock);
	return group;
}

void cm_detach_groups(struct cm_id *id)
{
	union ibv_gid gid;

	while (take_attached(id, &gid))
		if (id->id.qp)
			softverbs_ibv_detach_mcast(id->id.qp, &gid, 0);
}

void cm_free_groups(struct cm_id *id)
{
	struct cm_group *group;

	cm_detach_groups(id);
	while ((group = id->groups)) {
		id->groups = group->next;
		free(group);
	}
}

int softverbs_rdma_leave_multicast(struct rdma_cm_id *public_id, struct sockaddr *address)
{
	struct cm_id *id = to_cm_id(public_id);
	struct cm_group *group;

	if (!cm_address_length(address))
		return cm_result(-EINVAL);
	group = take(id, address);
	if (!group)
		return cm_result(-EADDRNOTAVAIL);
	if (id->id.event && container_of_(id->id.event, struct cm_event, event)->group == group)
		cm_take_event(id);
	cm_drain_group_events(id, group); /* another thread may just be attaching for the event of the join */
	if (group->attached && id->id.qp)
		softverbs_ibv_detach_mcast(id->id.qp, &group->gid, 0);
	free(group);
	return 0;
}
