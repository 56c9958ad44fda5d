/* SPDX-License-Identifier: Apache-2.0 */
/* GIDs and socket addresses. */
#include "core.h"
#include "device/gid_table.h"

#include <arpa/inet.h>
#include <string.h>

bool gid_is_mapped_v4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

bool gid_is_loopback(const union ibv_gid *gid)
{
	static const uint8_t loopback6[16] = {[15] = 1};

	return gid_is_mapped_v4(gid) ? gid->raw[12] == 127 : !memcmp(gid->raw, loopback6, 16);
}

bool gid_is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

bool gid_is_multicast(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xff || (gid_is_mapped_v4(gid) && (gid->raw[12] & 0xf0) == 0xe0);
}

void gid_from_address(const struct sockaddr *address, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &v4->sin_addr, 4);
	} else {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

		memcpy(gid->raw, &v6->sin6_addr, 16);
	}
}

socklen_t gid_to_address(const union ibv_gid *gid, uint16_t port, struct sockaddr_storage *address)
{
	memset(address, 0, sizeof(*address));
	if (gid_is_mapped_v4(gid)) {
		struct sockaddr_in *v4 = (struct sockaddr_in *)address;

		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, gid->raw + 12, 4);
		return sizeof(*v4);
	} else {
		struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		memcpy(&v6->sin6_addr, gid->raw, 16);
		v6->sin6_scope_id = gid_scope(gid);
		return sizeof(*v6);
	}
}

const char *gid_text(const union ibv_gid *gid, char *text)
{
	if (gid_is_mapped_v4(gid))
		inet_ntop(AF_INET, gid->raw + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, gid->raw, text, INET6_ADDRSTRLEN);
	return text;
}
