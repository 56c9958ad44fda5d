/* SPDX-License-Identifier: Apache-2.0 */
/* The GID table: the addresses of this host, the same order in every process. */
#include "core.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ADDRESSES = 64 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static union ibv_gid addresses[MAX_ADDRESSES];
static uint32_t scopes[MAX_ADDRESSES];
static int address_count;

static bool is_mapped_v4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static bool is_loopback(const union ibv_gid *gid)
{
	static const uint8_t loopback6[16] = {[15] = 1};

	return is_mapped_v4(gid) ? gid->raw[12] == 127 : !memcmp(gid->raw, loopback6, 16);
}

static bool is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

bool gid_is_multicast(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xff || (is_mapped_v4(gid) && (gid->raw[12] & 0xf0) == 0xe0);
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
	if (is_mapped_v4(gid)) {
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
	if (is_mapped_v4(gid))
		inet_ntop(AF_INET, gid->raw + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, gid->raw, text, INET6_ADDRSTRLEN);
	return text;
}

static void append(const union ibv_gid *gid, uint32_t scope)
{
	for (int i = 0; i < address_count; i++)
		if (!memcmp(&addresses[i], gid, sizeof(*gid)))
			return;
	if (address_count < MAX_ADDRESSES) {
		scopes[address_count] = scope;
		addresses[address_count++] = *gid;
	}
}

static bool configured_primary(union ibv_gid *gid)
{
	const char *text = getenv("SOFTVERBS_ADDRESS");
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {.v6 = {0}};

	if (!text)
		return false;
	if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1)
		address.any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) == 1)
		address.any.sa_family = AF_INET6;
	if (address.any.sa_family != AF_UNSPEC) {
		gid_from_address(&address.any, gid);
		return true;
	}
	return false;
}

enum { RANK_V4, RANK_V6, RANK_LINK_LOCAL, RANK_LOOPBACK_V4, RANK_LOOPBACK_V6 };

/* Where the address belongs in the table; -1: nowhere. */
static int rank(const struct ifaddrs *entry, union ibv_gid *gid)
{
	if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP))
		return -1;
	if (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6)
		return -1;
	gid_from_address(entry->ifa_addr, gid);
	if (is_link_local(gid))
		return RANK_LINK_LOCAL;
	return (is_loopback(gid) ? RANK_LOOPBACK_V4 : RANK_V4) + (is_mapped_v4(gid) ? 0 : 1);
}

static uint32_t scope_of(const struct ifaddrs *entry)
{
	return entry->ifa_addr->sa_family == AF_INET6
		       ? ((const struct sockaddr_in6 *)(const void *)entry->ifa_addr)->sin6_scope_id
		       : 0;
}

static void read_addresses(void)
{
	static const struct sockaddr_in localhost = {.sin_family = AF_INET,
						     .sin_addr.s_addr = 0x0100007f};
	struct ifaddrs *list = NULL;
	union ibv_gid gid;

	if (configured_primary(&gid))
		append(&gid, 0);
	if (getifaddrs(&list))
		list = NULL;
	for (int wanted = 0; wanted <= RANK_LOOPBACK_V6; wanted++)
		for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next)
			if (rank(entry, &gid) == wanted)
				append(&gid, scope_of(entry));
	if (list)
		freeifaddrs(list);
	if (!address_count) {
		gid_from_address((const struct sockaddr *)&localhost, &gid);
		append(&gid, 0);
	}
}

int gid_table_length(void)
{
	pthread_once(&once, read_addresses);
	return 2 * address_count;
}

int gid_table_entry(int index, union ibv_gid *gid, enum ibv_gid_type *type)
{
	if (index < 0 || index >= gid_table_length())
		return -EINVAL;
	*gid = addresses[index / 2];
	if (type)
		*type = index % 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	return 0;
}

bool gid_is_local(const union ibv_gid *gid)
{
	struct ifaddrs *list = NULL;
	bool found = is_loopback(gid);

	for (int i = 0; !found && i < gid_table_length(); i += 2)
		found = !memcmp(&addresses[i / 2], gid, sizeof(*gid));
	if (found || getifaddrs(&list))
		return found;
	for (const struct ifaddrs *entry = list; entry && !found; entry = entry->ifa_next) {
		union ibv_gid own;

		if (rank(entry, &own) >= 0)
			found = !memcmp(&own, gid, sizeof(own));
	}
	freeifaddrs(list);
	return found;
}

uint32_t gid_scope(const union ibv_gid *gid)
{
	if (!is_link_local(gid))
		return 0;
	for (int i = 0; i < gid_table_length(); i += 2)
		if (!memcmp(&addresses[i / 2], gid, sizeof(*gid)))
			return scopes[i / 2];
	return 0;
}
