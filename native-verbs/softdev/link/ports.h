/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of this process: one for every 256 queue pair numbers (QPN = port << 8 | index). */
#ifndef SOFTDEV_PORTS_H
#define SOFTDEV_PORTS_H

enum { PROCESS_MAX_PORTS = 16, PROCESS_QPS_PER_PORT = 256, PROCESS_RESERVED_PORT = 65535 };

/*
 * Returns the number of the index-th port of this process, which is opened if necessary, or -errno. The port is reserved for
 * TCP and UDP, and names the abstract unix listener. The first call starts the progress thread and listens. Any thread.
 */
int process_port_at(int index);
/* The sockets of a port. PORT_LINKS is a unix socket. */
enum port_socket { PORT_TCP, PORT_UDP, PORT_LINKS, PORT_SOCKETS };
/* Returns that socket of the port, or -1 if the port does not belong to this process. */
int process_socket(int number, enum port_socket kind);
/* Returns the index of that port, or -1 if the port does not belong to this process. */
int process_index_of_port(int number);

#endif
