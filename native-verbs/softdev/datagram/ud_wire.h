/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A datagram of an unreliable datagram queue pair, as it travels over UDP. It is this header (88 bytes, little endian except
 * where marked) and at most 4096 bytes of payload. Change UD_WIRE_VERSION with any change to it.
 *
 *    0  magic "SVUD"   4  version, flags, traffic class, hop limit   8  0
 *   12  destination QPN   16  source QPN   20  Q_Key   24  immediate (network order)   28  flow label
 *   32  source GID   48  destination GID   64  counter   72  HMAC of all before it, cut to 16 bytes
 *
 * The HMAC is present if a secret is set. It does not cover the payload, and whoever has seen a datagram can send it again.
 */
#ifndef SOFTDEV_UD_WIRE_H
#define SOFTDEV_UD_WIRE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UD_MAGIC = 0x44555653,
	UD_WIRE_VERSION = 3,
	UD_GRH_BYTES = 40,
	UD_MAX_PAYLOAD = 4096,
	UD_MAC_BYTES = 16,
};

enum { UD_FLAG_IMM = 1, UD_FLAG_SOLICITED = 2, UD_FLAG_ROCE_V1 = 4 };

struct ud_header {
	uint32_t magic;
	uint8_t version, flags, traffic_class, hop_limit;
	uint32_t reserved;
	uint32_t destination_qpn, source_qpn, qkey;
	__be32 imm;
	uint32_t flow_label;
	union ibv_gid source, destination;
	uint64_t counter;
	uint8_t mac[UD_MAC_BYTES];
};

_Static_assert(sizeof(struct ud_header) == 88 && offsetof(struct ud_header, mac) == 72, "as drawn");

/* Writes the network header, which precedes the payload in a receive buffer. */
void ud_fill_grh(const struct ud_header *header, uint32_t payload, uint8_t grh[UD_GRH_BYTES]);

/*
 * Ethernet packets have no service level. As on hardware, wc.sl tells instead of what kind the network header is (annex
 * A17.4.5.1).
 */
enum { UD_PACKET_UDP = 8, UD_PACKET_GRH = 0, UD_PACKET_IPV6 = 1, UD_PACKET_IPV4 = 2 };

uint8_t ud_packet_type(const struct ud_header *header);

/* The way back that a received network header names. */
struct ud_return {
	union ibv_gid source, destination;
	enum ibv_gid_type type;
	uint8_t traffic_class;
	uint32_t flow_label;
};

/* Returns false if the network header is not valid. */
bool ud_parse_grh(const uint8_t grh[UD_GRH_BYTES], struct ud_return *out);

#endif
