/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/qp_table.h"

#include "engine.h"
#include "link/ports.h"

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
		pthread_mutex_lock(&engine->qp_table->lock);
		for (int i = 0; i < PROCESS_QPS_PER_PORT; i++) {
			uint32_t low = (start + i) % PROCESS_QPS_PER_PORT;

			qp->slot = index * PROCESS_QPS_PER_PORT + low;
			if (!engine->qp_table->taken[qp->slot]) {
				engine->qp_table->taken[qp->slot] = true;
				pthread_mutex_unlock(&engine->qp_table->lock);
				qp->base.qp_num = (uint32_t)port << 8 | low;
				qp->base.handle = qp->slot;
				return 0;
			}
		}
		pthread_mutex_unlock(&engine->qp_table->lock);
	}
	return ENOMEM;
}

void qp_table_add(struct softdev_qp *qp)
{
	pthread_mutex_lock(&engine->qp_table->lock);
	engine->qp_table->table[qp->slot] = qp;
	pthread_mutex_unlock(&engine->qp_table->lock);
}

bool qp_table_remove(struct softdev_qp *qp)
{
	bool found;

	pthread_mutex_lock(&engine->qp_table->lock);
	found = qp->base.handle < DEVICE_MAX_QP && engine->qp_table->table[qp->base.handle] == qp;
	if (found)
		engine->qp_table->table[qp->base.handle] = NULL;
	pthread_mutex_unlock(&engine->qp_table->lock);
	return found;
}

void qp_table_give_number_back(const struct softdev_qp *qp)
{
	pthread_mutex_lock(&engine->qp_table->lock);
	engine->qp_table->taken[qp->slot] = false;
	pthread_mutex_unlock(&engine->qp_table->lock);
}

bool qp_is_live(const struct softdev_qp *qp)
{
	bool found;

	pthread_mutex_lock(&engine->qp_table->lock);
	found = qp->base.handle < DEVICE_MAX_QP && engine->qp_table->table[qp->base.handle] == qp;
	pthread_mutex_unlock(&engine->qp_table->lock);
	return found;
}

struct softdev_qp *qp_find(uint32_t qpn)
{
	int port = process_index_of_port(qpn >> 8);
	struct softdev_qp *qp = NULL;

	if (port < 0)
		return NULL;
	pthread_mutex_lock(&engine->qp_table->lock);
	qp = engine->qp_table->table[port * PROCESS_QPS_PER_PORT + (qpn & 0xff)];
	pthread_mutex_unlock(&engine->qp_table->lock);
	return qp;
}

void qp_for_each(void (*visit)(struct softdev_qp *qp, void *argument), void *argument)
{
	for (int i = 0; i < DEVICE_MAX_QP; i++) {
		struct softdev_qp *qp;

		pthread_mutex_lock(&engine->qp_table->lock);
		qp = engine->qp_table->table[i];
		pthread_mutex_unlock(&engine->qp_table->lock);
		if (qp)
			visit(qp, argument);
	}
}
