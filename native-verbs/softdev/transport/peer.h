/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer process whose memory or files can be read without its help: its mapped table, whether process_vm_readv()
 * works, and the file descriptors that it has passed. All QPs that are connected to the process share one
 * reference-counted object.
 */
#ifndef SOFTDEV_PEER_H
#define SOFTDEV_PEER_H

#include "memory/target.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct peer;

/*
 * Returns the peer with this nonce and takes over table_fd; NULL if its table cannot be used. `pid` is what the kernel
 * reports for the socket, 0 if it is in another PID namespace, and `nonce_address` is where that process has the nonce.
 */
struct peer *peer_open(const uint8_t *nonce, pid_t pid, uint64_t nonce_address, int table_fd);
struct peer *peer_hold(struct peer *peer);
void peer_release(struct peer *peer);

const struct shared_table *peer_table(const struct peer *peer);
pid_t peer_pid(const struct peer *peer);
bool peer_has_cma(const struct peer *peer);
/* Called with an errno of process_vm_readv(); if the kernel refuses it, it is not used any more, and the keys are forgotten. */
void peer_note_cma_error(struct peer *peer, int error);

/*
 * What is known of a key, by the peer's memory or its word: nothing yet; that it is wrong; that it is right, without or
 * with a file descriptor.
 */
enum peer_file_state { PEER_KEY_UNKNOWN, PEER_KEY_WRONG, PEER_FILE_NONE, PEER_FILE_HELD };

struct peer_file;

/*
 * Returns what is known of the key of a region, after a look into the peer's memory if process_vm_readv() is used, which
 * waits if that memory has to come from a disk. After PEER_FILE_HELD, *file can be read until peer_file_release(). With NULL
 * nothing is held and nothing looked up, as the progress thread must not wait.
 */
enum peer_file_state peer_file_hold(struct peer *peer, const struct target *target, struct peer_file **file);
void peer_file_release(struct peer *peer, struct peer_file *file);
int peer_file_fd(const struct peer_file *file);
/*
 * Stores whether the key is right in this generation of its slot. Takes over fd; -1 = none, which is also what remains of
 * it if the files of all peers have their share of the process's descriptors.
 */
void peer_file_add(struct peer *peer, uint32_t rkey, uint64_t generation, bool right, int fd);
/* Drops the files of regions that have changed since the files came. */
void peer_files_revoke(struct peer *peer);
/*
 * Drops all that is known of keys. Called when a connection ends, since the peer revokes a file only over the connections
 * by which it has passed files; those that stay look up the keys, or ask, again.
 */
void peer_forget_files(struct peer *peer);

#endif
