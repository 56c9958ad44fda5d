/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GID table follows the addresses of the host: each change raises IBV_EVENT_GID_CHANGE, a GID keeps its index while its
 * address is there, the entry of one that went is empty (ENODATA), and the next address takes it.
 */
#define _GNU_SOURCE
#include "softdev_fixture.h"

#include "hosts_fixture.h"

#include <arpa/inet.h>

static struct ibv_context *context;

static int table_length(void)
{
	struct ibv_port_attr port;

	CHECK_EQUAL(softverbs_ibv_query_port(context, 1, (struct _compat_ibv_port_attr *)&port), 0);
	return port.gid_tbl_len;
}

/* The first index of that IPv4 address, -1 = not there. */
static int index_of(const char *text)
{
	union ibv_gid gid, wanted = {.raw = {[10] = 0xff, [11] = 0xff}};

	if (text)
		CHECK_EQUAL(inet_pton(AF_INET, text, wanted.raw + 12), 1);
	else
		memset(&wanted, 0, sizeof(wanted));
	for (int i = 0; i < table_length(); i++) {
		CHECK_EQUAL(softverbs_ibv_query_gid(context, 1, i, &gid), 0);
		if (!memcmp(&gid, &wanted, sizeof(gid)))
			return i;
	}
	return -1;
}

/* Changes come one by one or together, each with an event: waits until the address is there, or gone. */
static void await(const char *text, bool there)
{
	struct ibv_async_event event;

	do {
		CHECK(test_readable(context->async_fd, WAIT_MS));
		CHECK_EQUAL(softverbs_ibv_get_async_event(context, &event), 0);
		CHECK_EQUAL(event.event_type, IBV_EVENT_GID_CHANGE);
		CHECK_EQUAL(event.element.port_num, 1);
		softverbs_ibv_ack_async_event(&event);
	} while ((index_of(text) >= 0) != there);
}

static int entries(struct ibv_gid_entry *table)
{
	return softverbs__ibv_query_gid_table(context, table, 32, 0, sizeof(*table));
}

static int move_to_rtr_from(struct side *side, int gid_index)
{
	struct address own = address_of(side);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = own.qpn,
		.ah_attr = {
			.is_global = 1, .port_num = 1, .grh = {.dgid = own.gid, .sgid_index = gid_index, .hop_limit = 1}},
	};

	to_init(side->qp, ALL_REMOTE);
	return softverbs_ibv_modify_qp(side->qp, &attr, TO_RTR);
}

int main(void)
{
	struct ibv_gid_entry table[32];
	int first, second, length;
	struct side side;

	hosts_leave();
	hosts_run("ip link add wire type veth peer name other");
	hosts_run("ip link set wire up");
	open_side(&side, 4, 4); /* a program that only looks at the device is told nothing: it may fork yet */
	context = side.context;
	length = table_length();
	hosts_run("ip address add 10.1.0.1/24 dev wire");
	await("10.1.0.1", true);
	hosts_run("ip address add 10.2.0.1/24 dev wire");
	await("10.2.0.1", true);
	first = index_of("10.1.0.1");
	second = index_of("10.2.0.1");
	CHECK(second > first && table_length() > length);
	CHECK_EQUAL(entries(table), table_length());

	hosts_run("ip address del 10.1.0.1/24 dev wire");
	await("10.1.0.1", false);
	CHECK_EQUAL(index_of("10.2.0.1"), second);
	CHECK_EQUAL(index_of(NULL), first);
	CHECK_EQUAL(softverbs__ibv_query_gid_ex(context, 1, first, table, 0, sizeof(*table)), ENODATA);
	CHECK_EQUAL(entries(table), table_length() - 2);
	CHECK_EQUAL(move_to_rtr_from(&side, first), EINVAL);
	CHECK_EQUAL(move_to_rtr_from(&side, second), 0);

	/* A link that is down keeps its IPv4 address, and the GID. */
	hosts_run("ip link set wire down");
	hosts_run("ip address add 10.3.0.1/24 dev lo");
	await("10.3.0.1", true);
	CHECK_EQUAL(index_of("10.3.0.1"), first);
	CHECK_EQUAL(index_of("10.2.0.1"), second);
	close_side(&side);
}
