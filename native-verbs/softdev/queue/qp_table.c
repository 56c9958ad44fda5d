/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/qp_table.h"

#include "engine.h"
#include "link/ports.h"
#include "lock.h"

#include <errno.h>

struct qp_table_state {
	pthread_mutex_t lock;
	struct softdev_qp *table[DEVICE_MAX_QP];
	bool taken[DEVICE_MAX_QP]; /* reserved before the QP is in the table and until it is out of sight */
};

ENGINE_PART(qp_table, NULL);

int qp_table_take_number(struct softdev_qp *qp)
{
	uint8_t start;

	random_bytes(&start, sizeof(start));
	for (int index = 0; index < PROCESS_MAX_PORTS; index++) {
		int port = process_port_at(index);

		if (port < 0)
			return -port;
		HOLD_LOCK(&engine->qp_table->lock);
		for (int i = 0; i < PROCESS_QPS_PER_PORT; i++) {
			uint32_t low = (start + i) % PROCESS_QPS_PER_PORT;

			qp->slot = index * PROCESS_QPS_PER_PORT + low;
			if (engine->qp_table->taken[qp->slot])
				continue;
			engine->qp_table->taken[qp->slot] = true;
			qp->base.qp_num = (uint32_t)port << 8 | low;
			qp->base.handle = qp->slot;
			return 0;
		}
	}
	return ENOMEM;
}

void qp_table_add(struct softdev_qp *qp)
{
	HOLD_LOCK(&engine->qp_table->lock);
	engine->qp_table->table[qp->slot] = qp;
}

void qp_table_remove(const struct softdev_qp *qp)
{
	HOLD_LOCK(&engine->qp_table->lock);
	engine->qp_table->table[qp->slot] = NULL;
}

void qp_table_give_number_back(const struct softdev_qp *qp)
{
	HOLD_LOCK(&engine->qp_table->lock);
	engine->qp_table->taken[qp->slot] = false;
}

bool qp_is_live(const struct softdev_qp *qp)
{
	HOLD_LOCK(&engine->qp_table->lock);
	return qp->base.handle < DEVICE_MAX_QP && engine->qp_table->table[qp->base.handle] == qp;
}

static struct softdev_qp *qp_at(int slot)
{
	HOLD_LOCK(&engine->qp_table->lock);
	return engine->qp_table->table[slot];
}

struct softdev_qp *qp_find(uint32_t qpn)
{
	int port = process_index_of_port(qpn >> 8);

	return port < 0 ? NULL : qp_at(port * PROCESS_QPS_PER_PORT + (qpn & 0xff));
}

void qp_for_each(void (*visit)(struct softdev_qp *qp, void *argument), void *argument)
{
	for (int i = 0; i < DEVICE_MAX_QP; i++) {
		struct softdev_qp *qp = qp_at(i);

		if (qp)
			visit(qp, argument);
	}
}
