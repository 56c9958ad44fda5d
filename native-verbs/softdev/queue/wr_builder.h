/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ibv_wr_* interface of one queue pair. It collects requests as ibv_send_wr from wr_start to wr_complete, which
 * posts all of them or none.
 */
#ifndef SOFTDEV_WR_BUILDER_H
#define SOFTDEV_WR_BUILDER_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct softdev_qp;
struct wr_builder;

/* Returns true if queue pairs of this type support all of these IBV_QP_EX_WITH_* operations. */
bool wr_builder_supports(enum ibv_qp_type type, uint64_t send_ops);
/* Gives the queue pair the functions of these operations. 0 or a positive errno. */
int wr_builder_attach(struct softdev_qp *qp, uint64_t send_ops);
void wr_builder_free(struct wr_builder *builder);

#endif
