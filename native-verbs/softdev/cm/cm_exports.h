/* SPDX-License-Identifier: Apache-2.0 */
/* Prototypes of the exported softverbs_rdma_* functions. Each behaves as the librdmacm function of the same name. */
#ifndef SOFTDEV_CM_EXPORTS_H
#define SOFTDEV_CM_EXPORTS_H

#include <rdma/rdma_cma.h>

#pragma GCC visibility push(default)

struct rdma_event_channel *softverbs_rdma_create_event_channel(void);
void softverbs_rdma_destroy_event_channel(struct rdma_event_channel *channel);
int softverbs_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event);
int softverbs_rdma_ack_cm_event(struct rdma_cm_event *event);
const char *softverbs_rdma_event_str(enum rdma_cm_event_type event);

int softverbs_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
			     void *context, enum rdma_port_space ps);
int softverbs_rdma_destroy_id(struct rdma_cm_id *id);
int softverbs_rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel);
int softverbs_rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value,
			      size_t length);
__be16 softverbs_rdma_get_src_port(struct rdma_cm_id *id);
__be16 softverbs_rdma_get_dst_port(struct rdma_cm_id *id);
struct ibv_context **softverbs_rdma_get_devices(int *count);
void softverbs_rdma_free_devices(struct ibv_context **list);

int softverbs_rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address);
int softverbs_rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *source,
				struct sockaddr *destination, int timeout_ms);
int softverbs_rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms);

int softverbs_rdma_listen(struct rdma_cm_id *id, int backlog);
int softverbs_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param);
int softverbs_rdma_establish(struct rdma_cm_id *id);
int softverbs_rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param);
int softverbs_rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t length);
int softverbs_rdma_disconnect(struct rdma_cm_id *id);

int softverbs_rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *attr);
int softverbs_rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr);
void softverbs_rdma_destroy_qp(struct rdma_cm_id *id);
int softverbs_rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
			      struct ibv_srq_init_attr *attr);
void softverbs_rdma_destroy_srq(struct rdma_cm_id *id);
int softverbs_rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *address, void *context);
int softverbs_rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context);
int softverbs_rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *address);
int softverbs_rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask);

int softverbs_rdma_getaddrinfo(const char *node, const char *service,
			       const struct rdma_addrinfo *hints, struct rdma_addrinfo **result);
void softverbs_rdma_freeaddrinfo(struct rdma_addrinfo *list);
int softverbs_rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *address,
			     struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
void softverbs_rdma_destroy_ep(struct rdma_cm_id *id);
int softverbs_rdma_get_request(struct rdma_cm_id *listener, struct rdma_cm_id **id);

#pragma GCC visibility pop

#endif
