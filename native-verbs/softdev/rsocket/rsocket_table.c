/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of rsockets: each is its event channel's, so that no other file of the process has the same number. */
#include "rsocket.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cancel.h"
#include "cm_exports.h"
#include "core.h"
#include "rsocket_exports.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsocket **table; /* by descriptor */
static int table_length;

enum { TABLE_STEP = 256, DEFAULT_LINGER_MS = 10000 };

/* The table never becomes shorter. 0 or a positive errno. */
static int table_reserve(int fd)
{
	int error = 0;

	pthread_mutex_lock(&table_lock);
	if (fd >= table_length) {
		int length = fd / TABLE_STEP * TABLE_STEP + TABLE_STEP;
		struct rsocket **longer = realloc(table, (size_t)length * sizeof(*table));

		if (longer) {
			for (int i = table_length; i < length; i++)
				longer[i] = NULL;
			table = longer;
			table_length = length;
		} else {
			error = ENOMEM;
		}
	}
	pthread_mutex_unlock(&table_lock);
	return error;
}

static void table_put(struct rsocket *rs)
{
	pthread_mutex_lock(&table_lock);
	table[rs->fd] = rs;
	pthread_mutex_unlock(&table_lock);
}

struct rsocket *rs_open(int domain, struct rdma_cm_id *id)
{
	struct rsocket *rs = calloc(1, sizeof(*rs));
	pthread_condattr_t monotonic;

	if (!rs)
		return NULL;
	rs->channel = softverbs_rdma_create_event_channel();
	if (!rs->channel)
		goto free_rs;
	rs->fd = rs->channel->fd;
	rs->domain = domain;
	rs->linger_ms = DEFAULT_LINGER_MS;
	rs->refs = 1;
	if (fcntl(rs->fd, F_SETFL, O_NONBLOCK))
		goto destroy_channel;
	pthread_mutex_init(&rs->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&rs->woken, &monotonic);
	pthread_condattr_destroy(&monotonic);
	/* The id last: one that was handed over cannot be handed back. */
	errno = table_reserve(rs->fd);
	if (errno || (id ? softverbs_rdma_migrate_id(id, rs->channel)
			 : softverbs_rdma_create_id(rs->channel, &rs->id, NULL, RDMA_PS_TCP)))
		goto destroy_lock;
	if (id)
		rs->id = id;
	table_put(rs);
	return rs;
destroy_lock:
	pthread_cond_destroy(&rs->woken);
	pthread_mutex_destroy(&rs->lock);
destroy_channel:
	softverbs_rdma_destroy_event_channel(rs->channel);
free_rs:
	free(rs);
	return NULL;
}

/* Nobody else knows it any more. */
static void destroy(struct rsocket *rs)
{
	rs_close_queues(rs);
	softverbs_rdma_destroy_id(rs->id);
	softverbs_rdma_destroy_event_channel(rs->channel);
	pthread_cond_destroy(&rs->woken);
	pthread_mutex_destroy(&rs->lock);
	free(rs);
}

struct rsocket *rs_find(int fd)
{
	struct rsocket *rs;

	/* Its parent's threads may have held any lock. */
	if (process_is_forked_child())
		return NULL;
	pthread_mutex_lock(&table_lock);
	rs = fd >= 0 && fd < table_length ? table[fd] : NULL;
	if (rs)
		rs->refs++;
	pthread_mutex_unlock(&table_lock);
	return rs;
}

void rs_drop(struct rsocket *rs)
{
	bool last;

	pthread_mutex_lock(&table_lock);
	last = --rs->refs == 0;
	pthread_mutex_unlock(&table_lock);
	if (last)
		destroy(rs);
}

void rs_forget(struct rsocket *rs)
{
	bool was_known;

	pthread_mutex_lock(&table_lock);
	was_known = table[rs->fd] == rs;
	if (was_known)
		table[rs->fd] = NULL;
	pthread_mutex_unlock(&table_lock);
	if (was_known)
		rs_drop(rs);
}

struct rsocket *rs_get(int fd)
{
	int cancel = cancel_put_off();
	struct rsocket *rs = rs_find(fd);

	if (rs) {
		pthread_mutex_lock(&rs->lock);
		rs->cancel = cancel;
	} else {
		cancel_restore(cancel);
		errno = process_is_forked_child() ? EIO : EBADF;
	}
	return rs;
}

void rs_put(struct rsocket *rs)
{
	int saved = errno, cancel = rs->cancel;

	pthread_mutex_unlock(&rs->lock);
	rs_drop(rs);
	cancel_restore(cancel);
	errno = saved;
}
