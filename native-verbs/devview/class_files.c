/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel would show of the device in /sys/class, in the kernel's formats, from the device's own answers. */
#define _GNU_SOURCE
#include "devview.h"

#include <endian.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IBDEV "/sys/class/infiniband/softv0"
#define PORT IBDEV "/ports/1"
#define UVERBS "/sys/class/infiniband_verbs/uverbs0"

enum { PORT_NUMBER = 1, KERNEL_UVERBS_ABI = 6 };

/* Makes the folders that lead to `path`, all of them below /sys/class. */
static void make_parents(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	for (char *slash = folder + strlen("/sys/class/"); (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(folder, 0755); /* what really fails is said by the open() that follows */
		*slash = '/';
	}
}

static void put_line(const char *path, const char *line)
{
	int fd;

	make_parents(path);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0444);
	if (fd < 0 || dprintf(fd, "%s\n", line) < 0)
		give_up("%s", path);
	close(fd);
}

__attribute__((format(printf, 2, 3))) static void put(const char *path, const char *format, ...)
{
	char line[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	put_line(path, line);
}

/* `bytes` of a number in network order as groups of four hexadecimal digits. */
static void put_groups(const char *path, const void *value, int bytes)
{
	const uint8_t *byte = value;
	char line[64];
	int used = 0;

	for (int i = 0; i < bytes; i += 2)
		used += snprintf(line + used, sizeof(line) - used, "%s%02x%02x", i ? ":" : "", byte[i], byte[i + 1]);
	put_line(path, line);
}

static void put_device(struct ibv_context *context)
{
	struct ibv_device_attr attr;

	if (ibv_query_device(context, &attr))
		give_up("ibv_query_device");
	put(IBDEV "/node_type", "%d: CA", context->device->node_type);
	put(IBDEV "/node_desc", "software verbs device");
	put(IBDEV "/fw_ver", "%s", attr.fw_ver);
	put(IBDEV "/hw_rev", "0x%x", attr.hw_ver);
	put(IBDEV "/hca_type", "softverbs");
	put_groups(IBDEV "/node_guid", &attr.node_guid, 8);
	put_groups(IBDEV "/sys_image_guid", &attr.sys_image_guid, 8);
	put(IBDEV "/device/numa_node", "-1");
	put(IBDEV "/device/vendor", "0x%x", attr.vendor_id);
	put(IBDEV "/device/device", "0x%x", attr.vendor_part_id);
	put(IBDEV "/device/infiniband_verbs/uverbs0/ibdev", "%s", context->device->name);
	put("/sys/class/infiniband_verbs/abi_version", "%d", KERNEL_UVERBS_ABI);
	put(UVERBS "/ibdev", "%s", context->device->name);
	put(UVERBS "/abi_version", "1");
	put(UVERBS "/dev", "231:192");
	if (symlink("../../infiniband/softv0/device", UVERBS "/device"))
		give_up(UVERBS "/device");
	if (symlink("uverbs0", "/sys/class/infiniband_verbs/softv0"))
		give_up("/sys/class/infiniband_verbs/softv0");
}

/* Gb/s of one lane in tenths, and the kernel's name of the speed. */
static int lane_rate(int speed, const char **name)
{
	static const struct {
		int speed, tenths;
		const char *name;
	} rates[] = {{1, 25, "SDR"},   {2, 50, "DDR"},	 {4, 100, "QDR"},   {8, 100, "FDR10"},
		     {16, 140, "FDR"}, {32, 250, "EDR"}, {64, 500, "HDR"}, {128, 1000, "NDR"}};

	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (rates[i].speed == speed) {
			*name = rates[i].name;
			return rates[i].tenths;
		}
	*name = "SDR";
	return 25;
}

static int lanes(int width)
{
	return width == 16 ? 2 : width == 2 ? 4 : width == 4 ? 8 : width == 8 ? 12 : 1;
}

static const char *name_of(const char *const *names, unsigned count, unsigned index)
{
	return index < count ? names[index] : "<unknown>";
}
#define NAME_OF(names, index) name_of(names, sizeof(names) / sizeof((names)[0]), index)

static void put_port(struct ibv_context *context)
{
	static const char *const states[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
	static const char *const physical[] = {
		"<unknown>", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery"};
	static const char *const layers[] = {"Unknown", "InfiniBand", "Ethernet"};
	struct ibv_port_attr attr;
	const char *speed;
	int tenths;

	if (ibv_query_port(context, PORT_NUMBER, &attr))
		give_up("ibv_query_port");
	tenths = lane_rate(attr.active_speed, &speed) * lanes(attr.active_width);
	put(PORT "/state", "%d: %s", attr.state, NAME_OF(states, attr.state));
	put(PORT "/phys_state", "%d: %s", attr.phys_state, NAME_OF(physical, attr.phys_state));
	put(PORT "/link_layer", "%s", NAME_OF(layers, attr.link_layer));
	put(PORT "/rate", "%d%s Gb/sec (%dX %s)", tenths / 10, tenths % 10 ? ".5" : "", lanes(attr.active_width), speed);
	put(PORT "/cap_mask", "0x%08x", attr.port_cap_flags);
	put(PORT "/lid", "0x%x", attr.lid);
	put(PORT "/lid_mask_count", "%d", attr.lmc);
	put(PORT "/sm_lid", "0x%x", attr.sm_lid);
	put(PORT "/sm_sl", "%d", attr.sm_sl);
	for (int i = 0; i < attr.pkey_tbl_len; i++) {
		char path[PATH_MAX];
		__be16 pkey;

		snprintf(path, sizeof(path), PORT "/pkeys/%d", i);
		if (ibv_query_pkey(context, PORT_NUMBER, i, &pkey))
			give_up("ibv_query_pkey");
		put(path, "0x%04x", be16toh(pkey));
	}
}

static bool has_address(const struct sockaddr *address, const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (!address)
		return false;
	if (address->sa_family == AF_INET)
		return !memcmp(gid->raw, mapped, sizeof(mapped)) &&
		       !memcmp(gid->raw + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
	return address->sa_family == AF_INET6 &&
	       !memcmp(gid->raw, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
}

static void put_gids(struct ibv_context *context)
{
	struct ibv_port_attr attr;
	struct ifaddrs *interfaces = NULL;

	if (ibv_query_port(context, PORT_NUMBER, &attr) || getifaddrs(&interfaces))
		give_up("the GID table");
	for (int i = 0; i < attr.gid_tbl_len; i++) {
		const char *interface = "lo";
		char path[PATH_MAX];
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(context, PORT_NUMBER, i, &entry, 0))
			give_up("GID %d", i);
		for (const struct ifaddrs *other = interfaces; other; other = other->ifa_next)
			if (has_address(other->ifa_addr, &entry.gid))
				interface = other->ifa_name;
		snprintf(path, sizeof(path), PORT "/gids/%d", i);
		put_groups(path, &entry.gid, 16);
		snprintf(path, sizeof(path), PORT "/gid_attrs/types/%d", i);
		put(path, "%s", entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1");
		snprintf(path, sizeof(path), PORT "/gid_attrs/ndevs/%d", i);
		put(path, "%s", interface);
		if (i == 0) {
			char target[PATH_MAX];

			snprintf(path, sizeof(path), IBDEV "/device/net/%s", interface);
			make_parents(path);
			snprintf(target, sizeof(target), "/sys/class/net/%s", interface);
			if (symlink(target, path))
				give_up("%s", path);
		}
	}
	freeifaddrs(interfaces);
}

void show_class_files(void)
{
	static const char *const own[] = {"infiniband", "infiniband_verbs", NULL};
	struct ibv_device **list;
	struct ibv_context *context;

	cover("/sys/class", own);
	list = ibv_get_device_list(NULL);
	context = list ? ibv_open_device(list[0]) : NULL;
	if (!context)
		give_up("the device does not open");
	put_device(context);
	put_port(context);
	put_gids(context);
	ibv_close_device(context);
	ibv_free_device_list(list);
}
