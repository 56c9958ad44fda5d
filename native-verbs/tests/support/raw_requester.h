/* SPDX-License-Identifier: Apache-2.0 */
/* The requesting end of a queue pair's link without the device: for requests that the device never would send. */
#ifndef SHUFFLE_RDMA_RAW_REQUESTER_H
#define SHUFFLE_RDMA_RAW_REQUESTER_H

#include "memory/peer_table.h"
#include "raw_responder.h"

enum { RAW_QPN = 0x432107 };

/* Connects a queue pair to RAW_QPN, from where nothing comes before the raw requester does. */
static inline void connect_to_raw(struct side *side)
{
	struct address raw = {RAW_QPN, address_of(side).gid};

	reconnect_side(side, &raw, NULL);
}

/* What the requester RAW_QPN says of itself to the queue pair at `to`, if that is connected to it. */
static inline struct qp_open raw_requester_open(const struct address *to)
{
	return (struct qp_open){.source_qpn = RAW_QPN,
				.destination_qpn = to->qpn,
				.source_gid = to->gid,
				.destination_gid = to->gid,
				.qp_type = IBV_QPT_RC};
}

/* Connects to the process, and opens the queue pair; the reply is still to come. */
static inline int raw_requester_connect(const struct qp_open *open)
{
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(*open)};
	int fd = raw_link_connect(open->destination_qpn >> 8);

	raw_link_shake_hands(fd, LINK_KIND_QP, raw_write_frame);
	CHECK(raw_write_frame(fd, &frame, open));
	return fd;
}

/* The same with the reply; `table` is what the other end shows of its regions. */
static inline int raw_requester_enter(const struct address *to, const struct shared_table **table)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	struct qp_open_reply reply;
	struct frame frame;
	struct iovec iov = {&frame, sizeof(frame)};
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct qp_open open = raw_requester_open(to);
	int table_fd, fd = raw_requester_connect(&open);

	CHECK_EQUAL(recvmsg(fd, &message, MSG_WAITALL), sizeof(frame));
	CHECK(frame.op == WIRE_QP_OPEN_REPLY && !frame.status && CMSG_FIRSTHDR(&message));
	memcpy(&table_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(table_fd));
	CHECK_EQUAL(recv(fd, &reply, sizeof(reply), MSG_WAITALL), sizeof(reply));
	*table = mmap(NULL, sizeof(**table), PROT_READ, MAP_SHARED, table_fd, 0);
	CHECK(*table != MAP_FAILED);
	close(table_fd);
	return fd;
}

/* Asks for the file of a region: the status, or -1 if the link is closed. The descriptor is dropped. */
static inline int raw_ask_for_file(int fd, uint32_t rkey, uint64_t generation)
{
	struct wire_key key = {.generation = generation, .rkey = rkey};
	struct frame frame = {.op = WIRE_FILE_REQUEST, .length = sizeof(key)};

	if (!raw_write_frame(fd, &frame, &key) || !raw_read_frame(fd, &frame, &key, sizeof(key)))
		return -1;
	CHECK_EQUAL(frame.op, WIRE_FILE_REPLY);
	CHECK_EQUAL(frame.length, sizeof(key));
	CHECK_EQUAL(key.rkey, rkey);
	return key.status;
}

#endif
