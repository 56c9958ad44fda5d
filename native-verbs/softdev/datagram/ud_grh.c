/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 40 bytes before the payload of a received datagram. They are a GRH, which looks like an IPv6 header, for RoCE v1
 * and for v2 over IPv6. For RoCE v2 over IPv4 they are 20 undefined bytes (zeros here) and an IPv4 header (InfiniBand
 * specification, annex A17).
 */
#include "core.h"
#include "datagram/ud_wire.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

enum {
	IPV4_OFFSET = UD_GRH_BYTES - 20,
	IPV4_PROTOCOL = IPV4_OFFSET + 9,
	IPV6_NEXT_HEADER = 6,
	PROTOCOL_UDP = 17,
	NEXT_HEADER_BTH = 0x1b,
	BTH_DETH_ICRC_BYTES = 12 + 8 + 4,
	IMM_BYTES = 4,
	UDP_BYTES = 8,
};

static bool is_v4(const struct ud_header *header)
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)header->source.raw) &&
	       IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)header->destination.raw);
}

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

/* Returns the one's complement sum of an IPv4 header, which is 0 if its checksum is right. */
static uint16_t ipv4_checksum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static void fill_ipv4(const struct ud_header *header, uint16_t transport_bytes, uint8_t *ip)
{
	ip[0] = 0x45;
	ip[1] = header->traffic_class;
	put16(ip + 2, 20 + transport_bytes);
	ip[6] = 0x40; /* do not fragment */
	ip[8] = header->hop_limit;
	ip[9] = PROTOCOL_UDP;
	memcpy(ip + 12, header->source.raw + 12, 4);
	memcpy(ip + 16, header->destination.raw + 12, 4);
	put16(ip + 10, ipv4_checksum(ip));
}

uint8_t ud_packet_type(const struct ud_header *header)
{
	if (header->flags & UD_FLAG_ROCE_V1)
		return UD_PACKET_GRH;
	return UD_PACKET_UDP | (is_v4(header) ? UD_PACKET_IPV4 : UD_PACKET_IPV6);
}

void ud_fill_grh(const struct ud_header *header, uint32_t payload, uint8_t grh[UD_GRH_BYTES])
{
	uint8_t type = ud_packet_type(header);
	bool v1 = type == UD_PACKET_GRH;
	uint16_t transport = BTH_DETH_ICRC_BYTES + (header->flags & UD_FLAG_IMM ? IMM_BYTES : 0) +
			     (v1 ? 0 : UDP_BYTES) + ((payload + 3) & ~3u);
	uint32_t first = htonl(6u << 28 | (uint32_t)header->traffic_class << 20 |
			       (header->flow_label & 0xfffff));

	memset(grh, 0, UD_GRH_BYTES);
	if (type == (UD_PACKET_UDP | UD_PACKET_IPV4)) {
		fill_ipv4(header, transport, grh + IPV4_OFFSET);
		return;
	}
	memcpy(grh, &first, sizeof(first));
	put16(grh + 4, transport);
	grh[IPV6_NEXT_HEADER] = v1 ? NEXT_HEADER_BTH : PROTOCOL_UDP;
	grh[7] = header->hop_limit;
	memcpy(grh + 8, header->source.raw, 16);
	memcpy(grh + 24, header->destination.raw, 16);
}

static void map_v4(const uint8_t *address, union ibv_gid *gid)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};

	memcpy(&v4.sin_addr, address, sizeof(v4.sin_addr));
	gid_from_address((struct sockaddr *)&v4, gid);
}

bool ud_parse_grh(const uint8_t grh[UD_GRH_BYTES], struct ud_return *out)
{
	const uint8_t *ip = grh + IPV4_OFFSET;
	uint32_t first;

	memset(out, 0, sizeof(*out));
	memcpy(&first, grh, sizeof(first));
	first = ntohl(first);
	if (ip[0] == 0x45 && grh[IPV4_PROTOCOL] == PROTOCOL_UDP && !ipv4_checksum(ip)) {
		map_v4(ip + 12, &out->source);
		map_v4(ip + 16, &out->destination);
		out->type = IBV_GID_TYPE_ROCE_V2;
		out->traffic_class = ip[1];
		return true;
	}
	if (first >> 28 != 6)
		return false;
	memcpy(out->source.raw, grh + 8, 16);
	memcpy(out->destination.raw, grh + 24, 16);
	out->type = grh[IPV6_NEXT_HEADER] == PROTOCOL_UDP ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	out->traffic_class = first >> 20;
	out->flow_label = first & 0xfffff;
	return true;
}
