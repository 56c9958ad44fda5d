/* SPDX-License-Identifier: Apache-2.0 */
/* The queries of the device's properties, its port and its tables. */
#include "device/device.h"
#include "exports.h"
#include "process/handle.h"
#include "process/progress.h"

#include <errno.h>
#include <string.h>

enum { ODP_OF_MESSAGES = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV };

static void fill_device_attr(struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){
		.fw_ver = "0.1.0",
		.node_guid = softverbs_ibv_get_device_guid(NULL),
		.sys_image_guid = softverbs_ibv_get_device_guid(NULL),
		.max_mr_size = DEVICE_MAX_MR_BYTES,
		.page_size_cap = ~4095ull & 0xffffffffull,
		.vendor_id = 0xffffff, /* no vendor's OUI */
		.hw_ver = 1,
		.max_qp = DEVICE_MAX_QP,
		.max_qp_wr = DEVICE_MAX_WR,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
				    IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_SRQ_RESIZE |
				    IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_sge = DEVICE_MAX_SGE,
		.max_sge_rd = DEVICE_MAX_SGE,
		.max_cq = MAX_CQS,
		.max_cqe = DEVICE_MAX_CQE,
		.max_mr = DEVICE_MAX_MR,
		.max_mw = DEVICE_MAX_MR,
		.max_pd = MAX_PDS,
		.max_srq = MAX_SRQS,
		.max_srq_wr = DEVICE_MAX_SRQ_WR,
		.max_srq_sge = DEVICE_MAX_SGE,
		.max_qp_rd_atom = DEVICE_MAX_RD_ATOMIC,
		.max_res_rd_atom = DEVICE_MAX_RD_ATOMIC * DEVICE_MAX_QP,
		.max_qp_init_rd_atom = DEVICE_MAX_RD_ATOMIC,
		/* Atomics are atomic for the whole host (GLOB), too, but UCX looks for what NICs report. */
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_mcast_grp = DEVICE_MAX_GROUPS,
		.max_mcast_qp_attach = DEVICE_MAX_QP,
		.max_total_mcast_qp_attach = DEVICE_MAX_GROUPS * DEVICE_MAX_QP,
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
		.odp_caps = {.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
			     .per_transport_caps = {.rc_odp_caps = ODP_OF_MESSAGES | IBV_ODP_SUPPORT_READ |
								   IBV_ODP_SUPPORT_WRITE |
								   IBV_ODP_SUPPORT_ATOMIC,
						    .uc_odp_caps = ODP_OF_MESSAGES | IBV_ODP_SUPPORT_WRITE,
						    .ud_odp_caps = ODP_OF_MESSAGES}},
		.hca_core_clock = 1000000, /* kHz: the clock counts nanoseconds */
	};

	(void)context;
	if ((input && input->comp_mask) || attr_size < sizeof(full.orig_attr))
		return EINVAL;
	fill_device_attr(&full.orig_attr);
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
	memset(attr, 0, attr_size);
	memcpy(attr, &full, attr_size < sizeof(full) ? attr_size : sizeof(full));
	return 0;
}

/* The whole value is in tv_nsec, as on hardware: it counts the ticks of the device's clock and is no time. */
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
		.flags = IBV_QPF_GRH_REQUIRED,
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

/* The unit is 100 Mb/s. The port has four lanes of EDR, as active_width and active_speed say. */
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
	return port != 1 || gid_table_entry(index, gid, NULL) ? minus_one_with(EINVAL) : 0;
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
	if (port != 1 || flags || entry_size < sizeof(full) || index >= (uint32_t)gid_table_length())
		return EINVAL;
	if (gid_table_is_empty_at(index))
		return ENODATA;
	fill_gid_entry(index, &full);
	memcpy(entry, &full, sizeof(full));
	return 0;
}

ssize_t softverbs__ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				       size_t max_entries, uint32_t flags, size_t entry_size)
{
	int length = gid_table_length();
	size_t count = 0;

	(void)context;
	if (flags || entry_size < sizeof(*entries))
		return -EINVAL;
	for (int i = 0; i < length; i++) {
		if (gid_table_is_empty_at(i))
			continue;
		if (count == max_entries)
			return -EINVAL;
		fill_gid_entry(i, (struct ibv_gid_entry *)(void *)((char *)entries + count * entry_size));
		count++;
	}
	return count;
}

/* The provider-private numbering: 0 = IB or RoCE v1, 1 = RoCE v2. */
int softverbs_ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
				 int *type)
{
	union ibv_gid gid;
	enum ibv_gid_type full;

	(void)context;
	if (port != 1 || gid_table_entry(index, &gid, &full))
		return minus_one_with(EINVAL);
	*type = full == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

int softverbs_ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (port != 1 || index)
		return minus_one_with(EINVAL);
	*pkey = 0xffff;
	return 0;
}

int softverbs_ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	return port == 1 && pkey == 0xffff ? 0 : minus_one_with(EINVAL);
}

void query_set_ops(struct verbs_context *verbs)
{
	verbs->query_port = query_port;
	verbs->query_device_ex = query_device_ex;
	verbs->query_rt_values = query_rt_values;
}
