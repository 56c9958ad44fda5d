/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between two connection managers. Change CM_WIRE_VERSION with any change to it.
 *
 * A listener on port P is a UDP socket on P. It answers a request with the port on which its process accepts links;
 * everything else travels as frames on a link of kind CM:
 *
 *   client                                     server
 *     datagram REQUEST  ── UDP port P ──▶        keeps no state
 *     datagram REPLY    ◀───────────────         process port, boot nonce, cookie
 *     CM_FRAME_REQUEST  ── link ─────────▶       checks the cookie, CONNECT_REQUEST
 *                       ◀── CM_FRAME_REPLY       rdma_accept   (or CM_FRAME_REJECT, CM_FRAME_BUSY)
 *     CM_FRAME_READY    ─────────────────▶       ESTABLISHED
 *
 * Either end sends CM_FRAME_DISCONNECT, which the other answers with CM_FRAME_DISCONNECTED; the end of the link means
 * the same. If a secret is set, both sides ignore datagrams without the right MAC. For datagrams (RDMA_PS_UDP)
 * CM_FRAME_REPLY ends the exchange, since there is no connection.
 *
 * Ports are in network order, everything else is little endian.
 */
#ifndef SOFTDEV_CM_WIRE_H
#define SOFTDEV_CM_WIRE_H

#include <stdint.h>

#include "link/link.h"
#include "process/secret.h"

enum {
	CM_DATAGRAM_MAGIC = 0x4d435653,
	CM_WIRE_VERSION = 6,
	CM_COOKIE_BYTES = 16,
	CM_REQUEST_PRIVATE_DATA = 56,
	CM_REPLY_PRIVATE_DATA = 196,
	CM_REJECT_PRIVATE_DATA = 148,
	/* for datagrams, as in the SIDR exchange of the kernel's CM */
	CM_DATAGRAM_REQUEST_PRIVATE_DATA = 180,
	CM_DATAGRAM_REPLY_PRIVATE_DATA = 136,
};

enum cm_datagram_kind { CM_DATAGRAM_REQUEST = 1, CM_DATAGRAM_REPLY = 2 };

/* Requests and replies have the same size, so that a reply is never longer than its request. */
struct cm_datagram {
	uint32_t magic;
	uint8_t version;
	uint8_t kind;
	uint16_t process_port;
	uint8_t client_nonce[LINK_NONCE_BYTES];
	uint8_t process_nonce[LINK_NONCE_BYTES];
	uint8_t cookie[CM_COOKIE_BYTES];
	uint8_t key_id[SECRET_ID_BYTES]; /* names the secret */
	uint8_t mac[32]; /* HMAC-SHA256, under the secret, of the rest and the listener's address; else zeros */
} __attribute__((packed));

enum cm_frame_op {
	CM_FRAME_REQUEST = FRAME_OP_USER,
	CM_FRAME_REPLY,
	CM_FRAME_REJECT,
	CM_FRAME_BUSY,
	CM_FRAME_READY,
	CM_FRAME_DISCONNECT,
	CM_FRAME_DISCONNECTED,
};

/* One end's parameters of a connection, as it tells them to the other end. */
struct cm_queue_pair {
	uint32_t number;
	uint32_t psn;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t srq;
	uint8_t reserved[2];
} __attribute__((packed));

/* Payload of CM_FRAME_REQUEST. Addresses are IPv6 or IPv4-mapped. */
struct cm_request {
	uint8_t version;
	uint8_t datagrams; /* 1: the client asks for a queue pair that takes datagrams */
	uint8_t reserved[2];
	uint8_t source[16];
	uint8_t destination[16];
	uint16_t source_port;
	uint16_t destination_port;
	uint8_t client_nonce[LINK_NONCE_BYTES];
	uint8_t cookie[CM_COOKIE_BYTES];
	struct cm_queue_pair queue_pair;
	uint8_t private_data[CM_DATAGRAM_REQUEST_PRIVATE_DATA]; /* a connection uses CM_REQUEST_PRIVATE_DATA of them */
} __attribute__((packed));

/* Payload of CM_FRAME_REPLY. */
struct cm_reply {
	struct cm_queue_pair queue_pair;
	uint32_t qkey; /* datagrams only */
	uint8_t private_data[CM_REPLY_PRIVATE_DATA];
} __attribute__((packed));

/* Reasons of a reject, numbered as in the InfiniBand specification. They are the status of RDMA_CM_EVENT_REJECTED. */
enum cm_reject_reason {
	CM_REJECT_TIMEOUT = 4,
	CM_REJECT_NO_LISTENER = 8,
	CM_REJECT_CONSUMER = 28,
};

/* The same for datagrams: they are the status of RDMA_CM_EVENT_UNREACHABLE. */
enum cm_datagram_status { CM_DATAGRAM_UNSUPPORTED = 1, CM_DATAGRAM_REJECTED = 2 };

/* Payload of CM_FRAME_REJECT; frame.arg holds the reason. */
struct cm_reject {
	uint8_t private_data[CM_REJECT_PRIVATE_DATA];
} __attribute__((packed));

#endif
