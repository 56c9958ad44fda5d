/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "transport/connection.h"

#include "core.h"
#include "link/link.h"
#include "lock.h"
#include "process/cancel.h"
#include "process/file.h"
#include "process/log.h"
#include "process/settings.h"
#include "queue/qp.h"
#include "transport/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
#define FIELD(name) {#name, offsetof(struct softverbs_connection, name)}
	FIELD(reads_file), FIELD(read_bytes_file), FIELD(reads_cma), FIELD(read_bytes_cma),
	FIELD(reads_wire), FIELD(read_bytes_wire), FIELD(writes),    FIELD(write_bytes),
	FIELD(sends),	   FIELD(send_bytes),	   FIELD(atomics),   FIELD(fallbacks),
#undef FIELD
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]) };

_Static_assert(offsetof(struct softverbs_connection, reads_file) + FIELD_COUNT * sizeof(uint64_t) ==
		       sizeof(struct softverbs_connection),
	       "a field is missing");

static uint64_t value_of(const struct softverbs_connection *record, unsigned int field)
{
	return __atomic_load_n((const uint64_t *)(const void *)((const char *)record + fields[field].offset),
			       __ATOMIC_RELAXED);
}

static const char *way_of_reads(const struct softdev_qp *qp)
{
	if (link_peer(qp->requester.link)->is_tcp)
		return "as frames, for it is reached by TCP";
	if (path_mode() == PATH_WIRE)
		return "as frames, for SOFTVERBS_PATH wants it";
	if (!qp->requester.peer)
		return "as frames, for it shows no table of its regions: another user, or short of descriptors";
	if (!peer_has_cma(qp->requester.peer) || path_mode() == PATH_FILE)
		return "by file, and as frames where there is none";
	return path_mode() == PATH_CMA ? "by process_vm_readv" : "by file or process_vm_readv";
}

void connection_begin(struct softdev_qp *qp)
{
	char text[INET6_ADDRSTRLEN];

	qp->record.qp_num = qp->base.qp_num;
	qp->record.peer_qp_num = qp->attr.dest_qp_num;
	qp->record.peer_gid = qp->attr.ah_attr.grh.dgid;
	qp->record.is_tcp = link_peer(qp->requester.link)->is_tcp;
	log_info("qp %06x: connected to %06x of %s; READs go %s", qp->base.qp_num, qp->attr.dest_qp_num,
		 gid_text(&qp->record.peer_gid, text), way_of_reads(qp));
}

static void write_if_wanted(const struct softverbs_connection *record)
{
	const char *path = secure_getenv("SOFTVERBS_CONNECTIONS"), *names[FIELD_COUNT];
	char head[128], text[INET6_ADDRSTRLEN];
	uint64_t values[FIELD_COUNT];
	int cancel;

	if (!path || !*path || !record->qp_num)
		return;
	for (unsigned int i = 0; i < FIELD_COUNT; i++) {
		names[i] = fields[i].name;
		values[i] = value_of(record, i);
	}
	snprintf(head, sizeof(head), ",\"qp_num\":%u,\"peer\":\"%s\",\"peer_qp_num\":%u,\"link\":\"%s\"", record->qp_num,
		 gid_text(&record->peer_gid, text), record->peer_qp_num, record->is_tcp ? "tcp" : "unix");
	cancel = cancel_put_off();
	file_append_json("SOFTVERBS_CONNECTIONS", head, names, values, FIELD_COUNT);
	cancel_restore(cancel);
}

void connection_end(struct softdev_qp *qp)
{
	write_if_wanted(&qp->record);
	memset(&qp->record, 0, sizeof(qp->record));
}

static void write_one(struct softdev_qp *qp, void *unused)
{
	(void)unused;
	HOLD_LOCK(&qp->lock);
	write_if_wanted(&qp->record);
}

static void write_all(void *unused)
{
	qp_for_each(write_one, unused);
}

/* Writes the records of the connections that the program has left open. */
__attribute__((destructor)) static void write_rest(void)
{
	if (secure_getenv("SOFTVERBS_CONNECTIONS") && COUNTED(connections))
		progress_call(write_all, NULL);
}

int softverbs_get_connection(struct ibv_qp *base, struct softverbs_connection *out, size_t size)
{
	struct softdev_qp *qp = to_qp(base);
	struct softverbs_connection now;

	if (!out)
		return EINVAL;
	if (is_inherited(base->context))
		return EIO;
	memset(&now, 0, sizeof(now));
	pthread_mutex_lock(&qp->lock);
	now.qp_num = qp->record.qp_num;
	now.peer_qp_num = qp->record.peer_qp_num;
	now.peer_gid = qp->record.peer_gid;
	now.is_tcp = qp->record.is_tcp;
	pthread_mutex_unlock(&qp->lock);
	for (unsigned int i = 0; i < FIELD_COUNT; i++)
		*(uint64_t *)(void *)((char *)&now + fields[i].offset) = value_of(&qp->record, i);
	if (!now.qp_num)
		return ENOTCONN;
	memcpy(out, &now, size < sizeof(now) ? size : sizeof(now));
	return 0;
}
