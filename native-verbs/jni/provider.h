/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of the chosen provider, bound by name at run time: add a function to the list here. */
#ifndef DISNI_PROVIDER_H
#define DISNI_PROVIDER_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "softverbs.h"

/* Some of these are macros around the functions of the same name. */
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

/* X(function, symbol version in the system's libibverbs) */
#define IBVERBS_FUNCTIONS(X)                       \
	X(ibv_get_device_list, "IBVERBS_1.1")      \
	X(ibv_free_device_list, "IBVERBS_1.1")     \
	X(ibv_get_device_name, "IBVERBS_1.1")      \
	X(ibv_get_device_guid, "IBVERBS_1.1")      \
	X(ibv_open_device, "IBVERBS_1.1")          \
	X(ibv_close_device, "IBVERBS_1.1")         \
	X(ibv_query_device, "IBVERBS_1.1")         \
	X(ibv_query_port, "IBVERBS_1.1")           \
	X(ibv_query_gid, "IBVERBS_1.1")            \
	X(ibv_get_async_event, "IBVERBS_1.1")      \
	X(ibv_ack_async_event, "IBVERBS_1.1")      \
	X(ibv_event_type_str, "IBVERBS_1.1")       \
	X(ibv_alloc_pd, "IBVERBS_1.1")             \
	X(ibv_dealloc_pd, "IBVERBS_1.1")           \
	X(ibv_reg_mr, "IBVERBS_1.1")               \
	X(ibv_reg_mr_iova2, "IBVERBS_1.8")         \
	X(ibv_dereg_mr, "IBVERBS_1.1")             \
	X(ibv_create_comp_channel, "IBVERBS_1.0")  \
	X(ibv_destroy_comp_channel, "IBVERBS_1.0") \
	X(ibv_create_cq, "IBVERBS_1.1")            \
	X(ibv_resize_cq, "IBVERBS_1.1")            \
	X(ibv_destroy_cq, "IBVERBS_1.1")           \
	X(ibv_get_cq_event, "IBVERBS_1.1")         \
	X(ibv_ack_cq_events, "IBVERBS_1.1")        \
	X(ibv_create_qp, "IBVERBS_1.1")            \
	X(ibv_destroy_qp, "IBVERBS_1.1")           \
	X(ibv_modify_qp, "IBVERBS_1.1")            \
	X(ibv_query_qp, "IBVERBS_1.1")

/* X(function, symbol version in the system's librdmacm) */
#define RDMACM_FUNCTIONS(X)                         \
	X(rdma_create_event_channel, "RDMACM_1.0")  \
	X(rdma_destroy_event_channel, "RDMACM_1.0") \
	X(rdma_create_id, "RDMACM_1.0")             \
	X(rdma_destroy_id, "RDMACM_1.0")            \
	X(rdma_bind_addr, "RDMACM_1.0")             \
	X(rdma_listen, "RDMACM_1.0")                \
	X(rdma_resolve_addr, "RDMACM_1.0")          \
	X(rdma_resolve_route, "RDMACM_1.0")         \
	X(rdma_get_cm_event, "RDMACM_1.0")          \
	X(rdma_ack_cm_event, "RDMACM_1.0")          \
	X(rdma_set_option, "RDMACM_1.0")            \
	X(rdma_init_qp_attr, "RDMACM_1.2")          \
	X(rdma_establish, "RDMACM_1.2")             \
	X(rdma_create_qp, "RDMACM_1.0")             \
	X(rdma_destroy_qp, "RDMACM_1.0")            \
	X(rdma_connect, "RDMACM_1.0")               \
	X(rdma_accept, "RDMACM_1.0")                \
	X(rdma_reject, "RDMACM_1.0")                \
	X(rdma_disconnect, "RDMACM_1.0")            \
	X(rdma_destroy_ep, "RDMACM_1.0")            \
	X(rdma_get_devices, "RDMACM_1.0")           \
	X(rdma_free_devices, "RDMACM_1.0")

#define SOFTVERBS_FUNCTIONS(X)   \
	X(softverbs_reg_file_mr) \
	X(softverbs_set_secret)  \
	X(softverbs_accept_secret)  \
	X(softverbs_forget_secret)  \
	X(softverbs_get_counters)

#define VERBS_MEMBER(function, ...) __typeof__(function) *function;

struct verbs_table {
	IBVERBS_FUNCTIONS(VERBS_MEMBER)
	RDMACM_FUNCTIONS(VERBS_MEMBER)
	/* NULL with the system's libraries, but for softverbs_reg_file_mr if they are the software device's. */
	SOFTVERBS_FUNCTIONS(VERBS_MEMBER)
};

/* Written by provider_bind(), while no Java object that could use it exists. */
extern struct verbs_table verbs;

#define PROVIDER_REASON_MAX 512

/*
 * Binds the table to the software device in the file `soft_library`, or to the system's libraries
 * if that is NULL. 0, or -1, the reason and the table as it was. Nothing of a provider that was bound
 * before may be open; its libraries stay loaded.
 */
int provider_bind(const char *soft_library, char reason[PROVIDER_REASON_MAX]);

#endif
