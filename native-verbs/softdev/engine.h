/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: all state that the device has in a process, but what must be of the process itself (the list of devices, the
 * log, which thread counts where). It is made when the library is loaded, and anew in the child of a fork: there it begins
 * with nothing, and what the child inherited belongs to the engine of its parent, so that each call on it answers EIO.
 *
 * Each file that has state declares a `struct NAME_state`, which no other file sees, and makes it a part by ENGINE_PART(). A
 * part is zeroed when its init function is called; a zeroed mutex or once control is an initialised one in glibc and musl.
 */
#ifndef SOFTDEV_ENGINE_H
#define SOFTDEV_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#define ENGINE_PARTS(PART)                                                                                             \
	PART(agenda) PART(counters) PART(handle) PART(process) PART(progress) PART(secret) PART(settings)              \
	PART(watches) PART(device) PART(gid_table) PART(mr) PART(mr_table) PART(mw) PART(pd) PART(peer_table)          \
	PART(ports) PART(link_accept) PART(link_connect) PART(link_fault) PART(link_input) PART(link_local) PART(qp)   \
	PART(qp_table) PART(sq_defer) PART(file_share) PART(peer) PART(wrong_keys)                                     \
	PART(ud_endpoint) PART(ud_inlet) PART(ud_peer) PART(ud_receive) PART(ud_socket) PART(cm_address)               \
	PART(cm_listen) PART(cm_rendezvous) PART(fault) PART(fault_control) PART(fault_hold)

struct engine {
	struct engine *inherited; /* of the process that forked; it stays, for the child has pointers to it */
#define ENGINE_MEMBER(name) struct name##_state *name;
	ENGINE_PARTS(ENGINE_MEMBER)
#undef ENGINE_MEMBER
};

/* Of this process; never NULL. Changes in the child of a fork only, before the child's only thread goes on. */
extern struct engine *engine;

struct engine_part {
	size_t bytes;
	bool (*init)(void *part); /* NULL: zeros will do; false: no memory */
};

#define ENGINE_PART_NAME(name) extern const struct engine_part name##_part;
ENGINE_PARTS(ENGINE_PART_NAME)
#undef ENGINE_PART_NAME

#define ENGINE_PART(name, initialize)                                                                                  \
	const struct engine_part name##_part = {sizeof(struct name##_state), initialize}

#endif
