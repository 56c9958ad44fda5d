/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prototypes of the exported softverbs_ibv_* functions, for callers inside the library (librdmacm's
 * half uses these and nothing else of the verbs half). Each behaves as the libibverbs function of that name.
 */
#ifndef SOFTDEV_EXPORTS_H
#define SOFTDEV_EXPORTS_H

#include <infiniband/verbs.h>

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#pragma GCC visibility push(default)

struct ibv_device **softverbs_ibv_get_device_list(int *count);
void softverbs_ibv_free_device_list(struct ibv_device **list);
const char *softverbs_ibv_get_device_name(struct ibv_device *device);
__be64 softverbs_ibv_get_device_guid(struct ibv_device *device);
int softverbs_ibv_get_device_index(struct ibv_device *device);
struct ibv_context *softverbs_ibv_open_device(struct ibv_device *device);
int softverbs_ibv_close_device(struct ibv_context *context);
int softverbs_ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event);
void softverbs_ibv_ack_async_event(struct ibv_async_event *event);
int softverbs_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr);
int softverbs_ibv_query_port(struct ibv_context *context, uint8_t port,
			     struct _compat_ibv_port_attr *attr);
int softverbs_ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);
int softverbs_ibv_query_gid(struct ibv_context *context, uint8_t port, int index,
			    union ibv_gid *gid);
int softverbs__ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
				struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size);
ssize_t softverbs__ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				       size_t max_entries, uint32_t flags, size_t entry_size);
int softverbs_ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
				 int *type);
int softverbs_ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey);
int softverbs_ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey);

struct ibv_pd *softverbs_ibv_alloc_pd(struct ibv_context *context);
int softverbs_ibv_dealloc_pd(struct ibv_pd *pd);
struct ibv_mr *softverbs_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
struct ibv_mr *softverbs_ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					 int access);
struct ibv_mr *softverbs_ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, unsigned int access);
int softverbs_ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
			   int access);
int softverbs_ibv_dereg_mr(struct ibv_mr *mr);

struct ibv_comp_channel *softverbs_ibv_create_comp_channel(struct ibv_context *context);
int softverbs_ibv_destroy_comp_channel(struct ibv_comp_channel *channel);
struct ibv_cq *softverbs_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				       struct ibv_comp_channel *channel, int comp_vector);
int softverbs_ibv_resize_cq(struct ibv_cq *cq, int cqe);
int softverbs_ibv_destroy_cq(struct ibv_cq *cq);
int softverbs_ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
			       void **cq_context);
void softverbs_ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count);

struct ibv_srq *softverbs_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init);
int softverbs_ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int softverbs_ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int softverbs_ibv_destroy_srq(struct ibv_srq *srq);

struct ibv_qp *softverbs_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
int softverbs_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int softverbs_ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			   struct ibv_qp_init_attr *init_attr);
int softverbs_ibv_destroy_qp(struct ibv_qp *qp);
struct ibv_qp_ex *softverbs_ibv_qp_to_qp_ex(struct ibv_qp *qp);

struct ibv_ah *softverbs_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int softverbs_ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
				  struct ibv_grh *grh, struct ibv_ah_attr *attr);
struct ibv_ah *softverbs_ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
					       uint8_t port);
int softverbs_ibv_destroy_ah(struct ibv_ah *ah);
int softverbs_ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int softverbs_ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

int softverbs_ibv_fork_init(void);
enum ibv_fork_status softverbs_ibv_is_fork_initialized(void);
const char *softverbs_ibv_wc_status_str(enum ibv_wc_status status);
const char *softverbs_ibv_port_state_str(enum ibv_port_state state);
const char *softverbs_ibv_node_type_str(enum ibv_node_type type);
const char *softverbs_ibv_event_type_str(enum ibv_event_type type);
const char *softverbs_ibv_wr_opcode_str(enum ibv_wr_opcode opcode);
int softverbs_ibv_rate_to_mult(enum ibv_rate rate);
enum ibv_rate softverbs_mult_to_ibv_rate(int mult);
int softverbs_ibv_rate_to_mbps(enum ibv_rate rate);
enum ibv_rate softverbs_mbps_to_ibv_rate(int mbps);

#pragma GCC visibility pop

#endif
