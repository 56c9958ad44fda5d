/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine holds all state that the device has in a process, except what belongs to the process itself (the list of
 * devices, the log). It is created when the library is loaded and again in the child of a
 * fork. The child's engine starts empty; an inherited object belongs to the parent's engine, and every call on it
 * returns EIO.
 *
 * Each file that has state declares a `struct NAME_state` of its own and makes it a part of the engine with
 * ENGINE_PART(). A part is zeroed before its init function is called; in glibc and musl a zeroed mutex or once control
 * is an initialised one.
 */
#ifndef SOFTDEV_ENGINE_H
#define SOFTDEV_ENGINE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define ENGINE_PARTS(PART)                                                                                             \
	PART(agenda) PART(counters) PART(handle) PART(process) PART(progress) PART(secret) PART(settings)              \
	PART(watches) PART(workers) PART(device) PART(gid_table) PART(mr) PART(mr_table) PART(mw) PART(pd) PART(peer_table)          \
	PART(ports) PART(link_connect) PART(link_fault) PART(link_handshake) PART(link_input) PART(link_listen) PART(strangers) PART(qp)  \
	PART(qp_table) PART(file_share) PART(peer) PART(wrong_keys)                                     \
	PART(mcast) PART(ud_genuine) PART(ud_inlet) PART(ud_receive) PART(cm_address)               \
	PART(cm_listen) PART(cm_rendezvous) PART(fault) PART(fault_control) PART(fault_hold)

struct engine {
	struct engine *inherited; /* the engine of the parent; never freed, since the child holds pointers to it */
#define ENGINE_MEMBER(name) struct name##_state *name;
	ENGINE_PARTS(ENGINE_MEMBER)
#undef ENGINE_MEMBER
};

/*
 * The engine of this process. It is NULL if there was no memory for it: calls that need no object of an engine ask for that
 * first, and the others cannot be made. It changes only in the child of a fork, while the child has a single thread.
 */
extern struct engine *engine;

/* 0, or ENOMEM if there is no engine. */
static inline int engine_check(void)
{
	return engine ? 0 : ENOMEM;
}

struct engine_part {
	size_t bytes;
	bool (*init)(void *part); /* NULL if zeros are enough; returns false if memory is short */
};

#define ENGINE_PART_NAME(name) extern const struct engine_part name##_part;
ENGINE_PARTS(ENGINE_PART_NAME)
#undef ENGINE_PART_NAME

#define ENGINE_PART(name, initialize)                                                                                  \
	const struct engine_part name##_part = {sizeof(struct name##_state), initialize}

#endif
