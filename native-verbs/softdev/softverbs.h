/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libsoftverbs.so.1 that libibverbs and librdmacm lack. In addition, every public function of those
 * two libraries is exported as softverbs_<name> with the same signature.
 */
#ifndef SOFTVERBS_H
#define SOFTVERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

/* Totals of this process since it loaded the library. New fields are only ever appended. */
struct softverbs_counters {
	uint64_t pd_live, pd_ever;
	uint64_t mr_live, mr_ever;
	uint64_t cq_live, cq_ever;
	uint64_t qp_live, qp_ever;
	uint64_t send_wr_posted, send_wr_signalled;
	uint64_t reads_file, read_bytes_file;
	uint64_t reads_cma, read_bytes_cma;
	uint64_t reads_wire, read_bytes_wire;
	uint64_t reads_served_wire, read_bytes_served_wire;
	uint64_t writes, write_bytes;
	uint64_t sends, send_bytes;
	uint64_t connections;
	uint64_t fallbacks;
	uint64_t srq_live;
	uint64_t atomics;
	uint64_t mw_live;
	/* Connections over TCP, and READs over the wire that went by TCP; they are included in the totals above. */
	uint64_t connections_tcp;
	uint64_t reads_tcp, read_bytes_tcp;
};

/*
 * Registers the `length` bytes at `addr`, a mapping of the file `fd` that starts at `file_offset`. A peer on the same
 * host that may not read this process's memory may then READ from the file itself. All others READ the mapping, which
 * therefore stays as long as the region. The function duplicates the descriptor, so that the caller may close its own. NULL and errno on failure, as ibv_reg_mr().
 */
struct ibv_mr *softverbs_reg_file_mr(struct ibv_pd *pd, void *addr, size_t length, int fd,
				     uint64_t file_offset, int access);

/*
 * Sets the secret that a peer must prove before a connection is accepted or used. It has 16 to 256 bytes and must be
 * set before the first queue pair or listener of the process. Returns 0, EINVAL for another length, EBUSY if it comes
 * too late, or another positive errno.
 */
int softverbs_set_secret(const void *secret, size_t length);

/*
 * Accepts peers that prove this secret, too, from now on, and uses it with them. Peers that this process connects to by
 * itself must know its own secret. Returns 0, EINVAL for another length, ENOSPC if 4096 are accepted, or ENOMEM. What has
 * been accepted n times must be forgotten n times. Any thread, at any time.
 */
int softverbs_accept_secret(const void *secret, size_t length);

/* Accepts the secret no more; connections stay. Returns 0, or ENOENT if it was not accepted. */
int softverbs_forget_secret(const void *secret, size_t length);

/* Copies the first `size` bytes of the counters to `out`. Returns 0 or a positive errno. */
int softverbs_get_counters(struct softverbs_counters *out, size_t size);

#pragma GCC visibility pop

#endif
