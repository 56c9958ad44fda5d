/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of this process: one for every 256 QP numbers (QPN = port << 8 | index). */
#ifndef SOFTDEV_PORTS_H
#define SOFTDEV_PORTS_H

enum { PROCESS_MAX_PORTS = 16, PROCESS_QPS_PER_PORT = 256, PROCESS_RESERVED_PORT = 65535 };

/*
 * The first port of this process: reserved as a TCP and a UDP port, and the name of its abstract unix
 * listener. Starts the progress thread and listens on first use. The port, or -errno. Any thread.
 */
int process_port(void);
/* The number of the index-th port, opened when needed; or -errno. */
int process_port_at(int index);
/* The UDP socket of that port of this process; -1 if it is not one. */
int process_udp_socket(int number);
/* The unix socket, bound and not yet listening, that is kept for the datagrams of that port (datagram/ud_endpoint.h); -1 as above. */
int process_datagram_socket(int number);
/* Which port it is, -1 if not ours. */
int process_index_of_port(int number);

/* The child of a fork closes them, for they are its parent's. */
void ports_after_fork_in_child(void);

#endif
