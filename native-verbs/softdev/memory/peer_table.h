/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MR and QP tables that a process shows to its peers: a sealed memfd, whose descriptor comes with the link and which
 * the peers map read-only, so that they can check a READ without asking. The table contains no keys, so that a peer without
 * a key learns none from it: once for each generation a requester looks the key up in the owner's memory if the kernel lets
 * it, and else asks whether its key is right (WIRE_FILE_REQUEST). Read this and the frames in wire.h before changing a
 * layout, because two processes may run different builds.
 *
 * An entry is valid while its generation is odd. A writer makes the generation even, changes the entry, and publishes a
 * new odd generation that was never used before. A reader copies the entry between two loads of one odd generation.
 */
#ifndef SOFTDEV_PEER_TABLE_H
#define SOFTDEV_PEER_TABLE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	TABLE_VERSION = 4,
	TABLE_MR_SLOTS = 65536,
	TABLE_QP_SLOTS = 4096,
};

#define TABLE_MAGIC 0x31545653u /* "SVT1" */

struct mr_entry {
	_Atomic uint64_t generation;
	uint64_t iova;
	uint64_t length;
	uint64_t address;
	uint64_t file_offset;
	uint32_t reserved;
	uint32_t pd;
	uint32_t access;
	uint32_t has_file;
	uint64_t bound_qp; /* generation of the one queue pair that may use it, 0 = all of the domain */
};

struct qp_entry {
	_Atomic uint64_t generation; /* new at every RESET as well */
	_Atomic uint32_t readable;   /* RTR or later, REMOTE_READ, and READ resources */
	uint32_t pd;
};

struct shared_table {
	uint32_t magic;
	uint32_t version;
	uint64_t bytes;
	uint8_t nonce[16];
	uint64_t keys_address; /* in the process that owns the table: of an array of uint32_t, the key of each slot */
	pthread_mutex_t liveness; /* robust, held by the progress thread until that dies */
	char pad[4096 - 40 - sizeof(pthread_mutex_t)];
	struct mr_entry mr[TABLE_MR_SLOTS];
	struct qp_entry qp[TABLE_QP_SLOTS];
};

/* Returns this process's own table, which it creates on first use. NULL and errno on failure. */
struct shared_table *own_table(void);
/* Returns a read-only descriptor of it, -1 if there is none. */
int own_table_fd(void);

/* Maps a peer's table after checking size, seals and nonce. Returns NULL if it cannot be trusted. Closes fd. */
const struct shared_table *peer_table_map(int fd, const uint8_t *nonce);
void peer_table_unmap(const struct shared_table *table);
/* Returns false once the peer's progress thread is dead. */
bool peer_table_alive(const struct shared_table *table);

#endif
