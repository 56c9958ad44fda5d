/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of queue pairs, and which queue pair has which. Any thread. */
#ifndef SOFTDEV_QP_TABLE_H
#define SOFTDEV_QP_TABLE_H

#include "queue/qp.h"

/* Takes a free number, starting at a random one. 0 or a positive errno. */
int qp_table_take_number(struct softdev_qp *qp);
void qp_table_give_number_back(const struct softdev_qp *qp);
/* From here on it is found by its number. */
void qp_table_add(struct softdev_qp *qp);
/* False if it was not there. */
bool qp_table_remove(struct softdev_qp *qp);

#endif
