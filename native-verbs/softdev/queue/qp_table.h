/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of queue pairs, and the queue pair of each number. Any thread. */
#ifndef SOFTDEV_QP_TABLE_H
#define SOFTDEV_QP_TABLE_H

#include "queue/qp.h"

/* Gives the queue pair a free number; the search starts at a random one. 0 or a positive errno. */
int qp_table_take_number(struct softdev_qp *qp);
void qp_table_give_number_back(const struct softdev_qp *qp);
/* Makes the queue pair known by its number. */
void qp_table_add(struct softdev_qp *qp);
void qp_table_remove(const struct softdev_qp *qp);

#endif
