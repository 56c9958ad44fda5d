/* SPDX-License-Identifier: Apache-2.0 */
/* What the device says about itself: within the caller's buffer, consistent, refused where it cannot be; names and rates. */
#include "softdev_fixture.h"

enum { CANARY = 0x5a };

/* Programs of another release have a smaller or a larger structure. */
static void attributesFillWhatTheCallerHasRoomFor(struct ibv_context *context)
{
	struct verbs_context *verbs = verbs_get_ctx(context);
	struct ibv_device_attr plain;
	struct {
		struct ibv_device_attr_ex attr;
		uint8_t more[64];
	} space;

	CHECK_EQUAL(softverbs_ibv_query_device(context, &plain), 0);
	memset(&space, CANARY, sizeof(space));
	CHECK_EQUAL(verbs->query_device_ex(context, NULL, &space.attr, sizeof(space)), 0);
	CHECK(!memcmp(&space.attr.orig_attr, &plain, sizeof(plain)));
	CHECK_EQUAL(space.attr.completion_timestamp_mask, UINT64_MAX);
	CHECK_EQUAL(space.attr.phys_port_cnt_ex, 1);
	CHECK_EQUAL(space.attr.device_cap_flags_ex, plain.device_cap_flags);
	for (size_t i = 0; i < sizeof(space.more); i++)
		CHECK_EQUAL(space.more[i], 0);
	memset(&space, CANARY, sizeof(space));
	CHECK_EQUAL(verbs->query_device_ex(context, NULL, &space.attr, sizeof(plain)), 0);
	CHECK(!memcmp(&space.attr.orig_attr, &plain, sizeof(plain)));
	CHECK_EQUAL(((uint8_t *)&space)[sizeof(plain)], CANARY);
	CHECK_EQUAL(verbs->query_device_ex(context, NULL, &space.attr, sizeof(plain) - 1), EINVAL);
	CHECK(plain.node_guid && plain.sys_image_guid && plain.vendor_id);
}

static void portAttributesLikewise(struct ibv_context *context)
{
	struct verbs_context *verbs = verbs_get_ctx(context);
	struct {
		struct ibv_port_attr attr;
		uint8_t more[32];
	} space;
	uint64_t speed = 0;

	memset(&space, CANARY, sizeof(space));
	CHECK_EQUAL(verbs->query_port(context, 1, &space.attr, sizeof(space)), 0);
	CHECK_EQUAL(space.attr.state, IBV_PORT_ACTIVE);
	CHECK_EQUAL(space.attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	CHECK_EQUAL(space.more[31], 0);
	memset(&space, CANARY, sizeof(space));
	CHECK_EQUAL(softverbs_ibv_query_port(context, 1, (struct _compat_ibv_port_attr *)&space.attr), 0);
	CHECK_EQUAL(((uint8_t *)&space)[offsetof(struct ibv_port_attr, port_cap_flags2)], CANARY);
	for (int port = 0; port < 256; port += port == 0 ? 2 : 1)
		CHECK_EQUAL(verbs->query_port(context, port, &space.attr, sizeof(space.attr)), EINVAL);
	CHECK_EQUAL(softverbs_ibv_query_port_speed(context, 1, &speed), 0);
	CHECK_EQUAL(speed, 1000);
	CHECK_EQUAL(softverbs_ibv_query_port_speed(context, 2, &speed), EINVAL);
}

static void gidsAreTheSameInEachForm(struct ibv_context *context)
{
	struct ibv_gid_entry table[64], entry;
	struct ibv_port_attr port;
	ssize_t count;

	CHECK_EQUAL(verbs_get_ctx(context)->query_port(context, 1, &port, sizeof(port)), 0);
	count = softverbs__ibv_query_gid_table(context, table, 64, 0, sizeof(table[0]));
	CHECK_EQUAL(count, port.gid_tbl_len);
	for (ssize_t i = 0; i < count; i++) {
		union ibv_gid gid;
		int type;

		CHECK_EQUAL(softverbs_ibv_query_gid(context, 1, i, &gid), 0);
		CHECK_EQUAL(softverbs_ibv_query_gid_type(context, 1, i, &type), 0);
		CHECK_EQUAL(softverbs__ibv_query_gid_ex(context, 1, i, &entry, 0, sizeof(entry)), 0);
		CHECK(!memcmp(&entry, &table[i], sizeof(entry)));
		CHECK(!memcmp(&gid, &entry.gid, sizeof(gid)));
		CHECK_EQUAL(type, entry.gid_type == IBV_GID_TYPE_ROCE_V2);
	}
	CHECK_EQUAL(softverbs__ibv_query_gid_table(context, table, count - 1, 0, sizeof(table[0])), -EINVAL);
	CHECK_EQUAL(softverbs__ibv_query_gid_table(context, table, 64, 1, sizeof(table[0])), -EINVAL);
	CHECK_EQUAL(softverbs__ibv_query_gid_table(context, table, 64, 0, sizeof(table[0]) - 1), -EINVAL);
	CHECK_EQUAL(softverbs__ibv_query_gid_ex(context, 1, count, &entry, 0, sizeof(entry)), EINVAL);
	CHECK_EQUAL(softverbs__ibv_query_gid_ex(context, 2, 0, &entry, 0, sizeof(entry)), EINVAL);
	CHECK_EQUAL(softverbs__ibv_query_gid_ex(context, 1, 0, &entry, 1, sizeof(entry)), EINVAL);
	CHECK_EQUAL(softverbs__ibv_query_gid_ex(context, 1, 0, &entry, 0, sizeof(entry) - 1), EINVAL);
	CHECK_EQUAL(softverbs_ibv_query_gid(context, 1, count, &entry.gid), -1);
	CHECK_EQUAL(softverbs_ibv_query_gid(context, 1, -1, &entry.gid), -1);
	CHECK_EQUAL(softverbs_ibv_query_gid(context, 0, 0, &entry.gid), -1);
}

static void thereIsOnePartition(struct ibv_context *context)
{
	__be16 pkey = 0;

	CHECK_EQUAL(softverbs_ibv_query_pkey(context, 1, 0, &pkey), 0);
	CHECK_EQUAL(pkey, 0xffff);
	CHECK_EQUAL(softverbs_ibv_get_pkey_index(context, 1, pkey), 0);
	CHECK_EQUAL(softverbs_ibv_get_pkey_index(context, 1, htobe16(0x8001)), -1);
	CHECK_EQUAL(softverbs_ibv_query_pkey(context, 1, 1, &pkey), -1);
	CHECK_EQUAL(softverbs_ibv_query_pkey(context, 1, -1, &pkey), -1);
	CHECK_EQUAL(softverbs_ibv_query_pkey(context, 2, 0, &pkey), -1);
}

/* Each value of the enumeration has a name of its own, others have one for all. */
#define EXPECT_NAMES(function, type, last)                                                           \
	for (int value = -2; value < (last) + 40; value++) {                                         \
		CHECK(function((type)value));                                                        \
		CHECK(value <= (last) || !strcmp(function((type)value), function((type)-1)));        \
	}                                                                                            \
	CHECK(strcmp(function(last), function((type)-1)))

static void namesAreBounded(void)
{
	EXPECT_NAMES(softverbs_ibv_wc_status_str, enum ibv_wc_status, IBV_WC_TM_RNDV_INCOMPLETE);
	EXPECT_NAMES(softverbs_ibv_event_type_str, enum ibv_event_type, IBV_EVENT_WQ_FATAL);
	EXPECT_NAMES(softverbs_ibv_port_state_str, enum ibv_port_state, IBV_PORT_ACTIVE_DEFER);
	EXPECT_NAMES(softverbs_ibv_node_type_str, enum ibv_node_type, IBV_NODE_UNSPECIFIED);
	EXPECT_NAMES(softverbs_ibv_wr_opcode_str, enum ibv_wr_opcode, IBV_WR_ATOMIC_WRITE);
}

static void ratesConvertBothWays(void)
{
	for (int rate = IBV_RATE_2_5_GBPS; rate <= IBV_RATE_1200_GBPS; rate++) {
		int mult = softverbs_ibv_rate_to_mult(rate), mbps = softverbs_ibv_rate_to_mbps(rate);

		CHECK(mbps > 0);
		CHECK_EQUAL(softverbs_mbps_to_ibv_rate(mbps), rate);
		CHECK(mult == -1 || softverbs_mult_to_ibv_rate(mult) == (enum ibv_rate)rate);
	}
	CHECK_EQUAL(softverbs_ibv_rate_to_mult(IBV_RATE_10_GBPS), 4);
	CHECK_EQUAL(softverbs_ibv_rate_to_mult(1), -1);
	CHECK_EQUAL(softverbs_ibv_rate_to_mbps(1), -1);
	CHECK_EQUAL(softverbs_mult_to_ibv_rate(-1), IBV_RATE_MAX);
	CHECK_EQUAL(softverbs_mbps_to_ibv_rate(7), IBV_RATE_MAX);
}

int main(void)
{
	struct ibv_context *context = open_device();

	attributesFillWhatTheCallerHasRoomFor(context);
	portAttributesLikewise(context);
	gidsAreTheSameInEachForm(context);
	thereIsOnePartition(context);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
	namesAreBounded();
	ratesConvertBothWays();
}
