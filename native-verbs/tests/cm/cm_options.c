/* SPDX-License-Identifier: Apache-2.0 */
/* rdma_set_option: what each option does and when it may be set. */
#include "cm_fixture.h"

static int set(struct rdma_cm_id *id, int level, int name, const void *value, size_t length)
{
	int result = softverbs_rdma_set_option(id, level, name, (void *)(uintptr_t)value, length);

	return result ? errno : 0;
}

static int set_int(struct rdma_cm_id *id, int name, int value)
{
	return set(id, RDMA_OPTION_ID, name, &value, sizeof(value));
}

static int set_byte(struct rdma_cm_id *id, int name, uint8_t value)
{
	return set(id, RDMA_OPTION_ID, name, &value, sizeof(value));
}

static void misuse(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = cm_id_open(channel), *datagrams;
	struct sockaddr_storage any = cm_address("127.0.0.1", 0);
	int wide = 1;

	CHECK_EQUAL(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &wide, sizeof(wide)), EINVAL);
	CHECK_EQUAL(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, NULL, 1), EINVAL);
	CHECK_EQUAL(set_byte(id, RDMA_OPTION_ID_REUSEADDR, 1), EINVAL);
	CHECK_EQUAL(set_byte(id, RDMA_OPTION_ID_ACK_TIMEOUT, 32), EINVAL);
	CHECK_EQUAL(set_int(id, 99, 1), ENOSYS);
	CHECK_EQUAL(set(id, 99, 0, &wide, sizeof(wide)), ENOSYS);
	CHECK_EQUAL(set(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &wide, sizeof(wide)), ENOSYS);
	CHECK(!softverbs_rdma_bind_addr(id, (struct sockaddr *)&any));
	CHECK_EQUAL(set_int(id, RDMA_OPTION_ID_REUSEADDR, 1), 0);
	CHECK_EQUAL(set_int(id, RDMA_OPTION_ID_AFONLY, 1), 0);
	CHECK(!softverbs_rdma_listen(id, 1));
	CHECK_EQUAL(set_int(id, RDMA_OPTION_ID_REUSEADDR, 1), EINVAL);
	CHECK_EQUAL(set_int(id, RDMA_OPTION_ID_AFONLY, 0), EINVAL);
	CHECK(!softverbs_rdma_create_id(channel, &datagrams, NULL, RDMA_PS_UDP));
	CHECK_EQUAL(set_byte(datagrams, RDMA_OPTION_ID_ACK_TIMEOUT, 14), EINVAL);
	CHECK(!softverbs_rdma_destroy_id(datagrams));
	CHECK(!softverbs_rdma_destroy_id(id));
}

/* Two ids on one port, one for each family, and two on the very same address. */
static void sharing(struct rdma_event_channel *channel)
{
	struct sockaddr_storage v6 = cm_address("::", 0), v4;
	struct rdma_cm_id *first = cm_id_open(channel), *second = cm_id_open(channel), *third = cm_id_open(channel);

	CHECK_EQUAL(set_int(first, RDMA_OPTION_ID_AFONLY, 1), 0);
	CHECK(!softverbs_rdma_bind_addr(first, (struct sockaddr *)&v6));
	v4 = cm_address("0.0.0.0", softverbs_rdma_get_src_port(first));
	CHECK_EQUAL(set_int(second, RDMA_OPTION_ID_REUSEADDR, 1), 0);
	CHECK(!softverbs_rdma_bind_addr(second, (struct sockaddr *)&v4));
	CHECK_FAILS(softverbs_rdma_bind_addr(third, (struct sockaddr *)&v4), EADDRINUSE);
	CHECK_EQUAL(set_int(second, RDMA_OPTION_ID_REUSEADDR, 0), 0);
	CHECK_EQUAL(set_int(second, RDMA_OPTION_ID_REUSEADDR, 1), 0); /* bound, and not listening yet */
	CHECK_EQUAL(set_int(third, RDMA_OPTION_ID_REUSEADDR, 1), 0);
	CHECK(!softverbs_rdma_bind_addr(third, (struct sockaddr *)&v4));
	CHECK(!softverbs_rdma_listen(second, 1));
	CHECK_FAILS(softverbs_rdma_listen(third, 1), EADDRINUSE);
	CHECK(!softverbs_rdma_destroy_id(first));
	CHECK(!softverbs_rdma_destroy_id(second));
	CHECK(!softverbs_rdma_destroy_id(third));
}

static void connection(void)
{
	struct cm_scene scene = cm_open_scene();
	struct ibv_qp_attr attr;

	CHECK_EQUAL(set_byte(scene.active, RDMA_OPTION_ID_TOS, 0x68), 0);
	CHECK_EQUAL(set_byte(scene.active, RDMA_OPTION_ID_ACK_TIMEOUT, 9), 0);
	cm_scene_ask(&scene);
	scene.passive = cm_take_id(scene.there, RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_add_qp(scene.passive);
	cm_accept(scene.passive);
	cm_scene_established(&scene);
	attr = query_qp(scene.active->qp, IBV_QP_AV | IBV_QP_TIMEOUT);
	CHECK_EQUAL(attr.timeout, 9);
	CHECK_EQUAL(attr.ah_attr.grh.traffic_class, 0x68);
	cm_close_scene(&scene);
}

int main(void)
{
	struct rdma_event_channel *channel = cm_channel_open();

	alarm(TEST_SECONDS);
	misuse(channel);
	sharing(channel);
	softverbs_rdma_destroy_event_channel(channel);
	connection();
}
