/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "device.h"

#include "exports.h"
#include "group.h"
#include "fault.h"
#include "handle.h"
#include "log.h"
#include "progress.h"
#include "settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct ibv_device device = {
	.node_type = IBV_NODE_CA,
	.transport_type = IBV_TRANSPORT_IB,
	.name = "softv0",
	.dev_name = "softv0",
	.dev_path = "/sys/class/infiniband_verbs/softv0",
	.ibdev_path = "/sys/class/infiniband/softv0",
};
static __be64 guid;

static pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_context *cm_context;

/* FNV-1a of what names the host: its boot, and the network namespace. */
static void make_guid(void)
{
	char text[160] = "";
	uint64_t hash = 0xcbf29ce484222325ull;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	ssize_t used = 0;

	if (file) {
		used = fread(text, 1, 64, file);
		fclose(file);
	}
	used += readlink("/proc/self/ns/net", text + used, sizeof(text) - used - 1) > 0 ? 32 : 0;
	for (const char *c = text; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 0x100000001b3ull;
	hash = (hash & ~(3ull << 56)) | 2ull << 56; /* locally administered, unicast */
	guid = htobe64(hash);
}

struct ibv_device **softverbs_ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	pthread_once(&once, make_guid);
	if (!list) {
		errno = ENOMEM;
		return NULL;
	}
	list[0] = &device;
	if (count)
		*count = 1;
	return list;
}

void softverbs_ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *softverbs_ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

__be64 softverbs_ibv_get_device_guid(struct ibv_device *dev)
{
	(void)dev;
	pthread_once(&once, make_guid);
	return guid;
}

int softverbs_ibv_get_device_index(struct ibv_device *dev)
{
	(void)dev;
	return -1;
}

static void fill_device_attr(struct ibv_device_attr *attr)
{
	pthread_once(&once, make_guid);
	*attr = (struct ibv_device_attr){
		.fw_ver = "0.1.0",
		.node_guid = guid,
		.sys_image_guid = guid,
		.max_mr_size = DEVICE_MAX_MR_BYTES,
		.page_size_cap = ~4095ull & 0xffffffffull,
		.vendor_id = 0xffffff, /* no vendor's OUI */
		.hw_ver = 1,
		.max_qp = DEVICE_MAX_QP,
		.max_qp_wr = DEVICE_MAX_WR,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
				    IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_SRQ_RESIZE,
		.max_sge = DEVICE_MAX_SGE,
		.max_sge_rd = DEVICE_MAX_SGE,
		.max_cq = MAX_CQS,
		.max_cqe = DEVICE_MAX_CQE,
		.max_mr = DEVICE_MAX_MR,
		.max_pd = MAX_PDS,
		.max_srq = MAX_SRQS,
		.max_srq_wr = DEVICE_MAX_SRQ_WR,
		.max_srq_sge = DEVICE_MAX_SGE,
		.max_qp_rd_atom = DEVICE_MAX_RD_ATOMIC,
		.max_res_rd_atom = DEVICE_MAX_RD_ATOMIC * DEVICE_MAX_QP,
		.max_qp_init_rd_atom = DEVICE_MAX_RD_ATOMIC,
		.atomic_cap = IBV_ATOMIC_GLOB,
		.max_mcast_grp = MAX_GROUPS,
		.max_mcast_qp_attach = MAX_GROUP_MEMBERS,
		.max_total_mcast_qp_attach = MAX_GROUPS * MAX_GROUP_MEMBERS,
		.max_ah = MAX_AHS,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = DEVICE_PORTS,
	};
}

int softverbs_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	if (!attr)
		return EINVAL;
	fill_device_attr(attr);
	return 0;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex full = {
		.phys_port_cnt_ex = DEVICE_PORTS,
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = 1000000, /* kHz: the clock counts nanoseconds */
	};

	(void)context;
	if ((input && input->comp_mask) || attr_size < sizeof(full.orig_attr))
		return EINVAL;
	fill_device_attr(&full.orig_attr);
	memset(attr, 0, attr_size);
	memcpy(attr, &full, attr_size < sizeof(full) ? attr_size : sizeof(full));
	return 0;
}

/* All in tv_nsec, as on hardware: it is a count of the device's clock, not a time. */
static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	(void)context;
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (values->comp_mask)
		values->raw_clock = (struct timespec){.tv_nsec = progress_now_ns()};
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		      size_t attr_size)
{
	struct ibv_port_attr full = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = DEVICE_MTU,
		.active_mtu = DEVICE_MTU,
		.gid_tbl_len = gid_table_length(),
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = DEVICE_MAX_MESSAGE,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.active_width = 2,
		.active_speed = 32,
		.phys_state = 5,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
	};

	(void)context;
	if (port != 1 || !attr)
		return EINVAL;
	memset(attr, 0, attr_size);
	memcpy(attr, &full, attr_size < sizeof(full) ? attr_size : sizeof(full));
	return 0;
}

int softverbs_ibv_query_port(struct ibv_context *context, uint8_t port,
			     struct _compat_ibv_port_attr *attr)
{
	return query_port(context, port, (struct ibv_port_attr *)attr,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* In units of 100 Mb/s: four lanes of EDR, as active_width and active_speed say. */
int softverbs_ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	(void)context;
	if (port != 1 || !speed)
		return EINVAL;
	*speed = 1000;
	return 0;
}

int softverbs_ibv_query_gid(struct ibv_context *context, uint8_t port, int index,
			    union ibv_gid *gid)
{
	(void)context;
	if (port != 1 || gid_table_entry(index, gid, NULL)) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

static void fill_gid_entry(uint32_t index, struct ibv_gid_entry *entry)
{
	enum ibv_gid_type type;

	*entry = (struct ibv_gid_entry){.gid_index = index, .port_num = 1};
	gid_table_entry(index, &entry->gid, &type);
	entry->gid_type = type;
}

int softverbs__ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
				struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry full;

	(void)context;
	if (port != 1 || flags || entry_size < sizeof(full))
		return EINVAL;
	if (index >= (uint32_t)gid_table_length())
		return EINVAL;
	fill_gid_entry(index, &full);
	memcpy(entry, &full, sizeof(full));
	return 0;
}

ssize_t softverbs__ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				       size_t max_entries, uint32_t flags, size_t entry_size)
{
	size_t count = gid_table_length();

	(void)context;
	if (flags || entry_size < sizeof(*entries) || max_entries < count)
		return -EINVAL;
	for (size_t i = 0; i < count; i++)
		fill_gid_entry(i, (struct ibv_gid_entry *)(void *)((char *)entries + i * entry_size));
	return count;
}

/* The provider-private numbering: 0 = IB or RoCE v1, 1 = RoCE v2. */
int softverbs_ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
				 int *type)
{
	union ibv_gid gid;
	enum ibv_gid_type full;

	(void)context;
	if (port != 1 || gid_table_entry(index, &gid, &full)) {
		errno = EINVAL;
		return -1;
	}
	*type = full == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

int softverbs_ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (port != 1 || index) {
		errno = EINVAL;
		return -1;
	}
	*pkey = 0xffff;
	return 0;
}

int softverbs_ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	if (port == 1 && pkey == 0xffff)
		return 0;
	errno = EINVAL;
	return -1;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	(void)pd;
	(void)type;
	errno = EOPNOTSUPP;
	return NULL;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return EOPNOTSUPP;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return EOPNOTSUPP;
}

struct ibv_context *softverbs_ibv_open_device(struct ibv_device *dev)
{
	struct softdev_context *context;
	struct ibv_context *base;
	int64_t handle;
	int error;

	if (process_is_forked_child()) {
		errno = EIO;
		return NULL;
	}
	error = settings_check();
	if (!error)
		error = fault_call(FAULT_OPEN_DEVICE);
	if (error) {
		errno = error;
		return NULL;
	}
	context = calloc(1, sizeof(*context));
	if (!context)
		return NULL;
	error = -event_queue_init(&context->async);
	if (error)
		goto free_context;
	device_events_init(context);
	handle = handle_add(HANDLE_CONTEXT, context);
	if (handle < 0) {
		error = -handle;
		goto destroy_queue;
	}
	context->handle = handle;
	context->verbs.sz = sizeof(context->verbs);
	context->verbs.query_port = query_port;
	context->verbs.query_device_ex = query_device_ex;
	context->verbs.query_rt_values = query_rt_values;
	base = &context->verbs.context;
	base->device = dev;
	base->cmd_fd = -1;
	base->async_fd = context->async.fd;
	base->num_comp_vectors = DEVICE_COMP_VECTORS;
	base->abi_compat = __VERBS_ABI_IS_EXTENDED;
	base->ops.alloc_mw = alloc_mw;
	base->ops.bind_mw = bind_mw;
	base->ops.dealloc_mw = dealloc_mw;
	pthread_mutex_init(&base->mutex, NULL);
	pd_set_ops(&context->verbs);
	cq_set_ops(&context->verbs);
	qp_set_ops(&context->verbs);
	srq_set_ops(&context->verbs);
	return base;

destroy_queue:
	event_queue_destroy(&context->async);
free_context:
	free(context);
	errno = error;
	return NULL;
}

int softverbs_ibv_close_device(struct ibv_context *base)
{
	struct softdev_context *context = to_context(base);

	if (!handle_remove(HANDLE_CONTEXT, context->handle, context)) {
		errno = ENOENT;
		return -1;
	}
	/* Objects that were not destroyed first still point here: then the memory is left to them. */
	if (atomic_load(&context->users))
		return 0;
	if (!event_queue_destroy(&context->async))
		return 0;
	pthread_mutex_destroy(&base->mutex);
	free(context);
	return 0;
}

struct ibv_context *device_cm_context(void)
{
	pthread_mutex_lock(&cm_lock);
	if (!cm_context)
		cm_context = softverbs_ibv_open_device(&device);
	pthread_mutex_unlock(&cm_lock);
	return cm_context;
}
