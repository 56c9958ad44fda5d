/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordinary program, compiled with the headers of rdma-core and linked with the libraries for unmodified programs: the device
 * is found, used and closed under the original names, and each verb that it lacks says EOPNOTSUPP.
 */
#include "facade_fixture.h"

#define EXPECT_NO_OBJECT(call)                                                                       \
	do {                                                                                         \
		errno = 0;                                                                           \
		CHECK(!(call));                                                                      \
		CHECK_EQUAL(errno, EOPNOTSUPP);                                                      \
	} while (0)

/* What docs/software-device.md says the device leaves out, where the inline functions of the headers ask for it. */
static void whatIsMissingSaysSo(struct ibv_context *context, struct ibv_pd *pd, struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex tag_matching = {
		.attr = {.max_wr = 1, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_TM,
		.pd = pd,
		.cq = cq,
	};
	struct ibv_qp_init_attr raw = {
		.send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RAW_PACKET};

	EXPECT_NO_OBJECT(ibv_alloc_dm(context, &(struct ibv_alloc_dm_attr){.length = 64}));
	EXPECT_NO_OBJECT(ibv_alloc_null_mr(pd));
	EXPECT_NO_OBJECT(ibv_open_xrcd(context, &(struct ibv_xrcd_init_attr){0}));
	EXPECT_NO_OBJECT(ibv_open_qp(context, &(struct ibv_qp_open_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_srq_ex(context, &tag_matching));
	EXPECT_NO_OBJECT(ibv_create_wq(context, &(struct ibv_wq_init_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_rwq_ind_table(context, &(struct ibv_rwq_ind_table_init_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_flow(qp, &(struct ibv_flow_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_flow_action_esp(context, &(struct ibv_flow_action_esp_attr){0}));
	EXPECT_NO_OBJECT(ibv_create_counters(context, &(struct ibv_counters_init_attr){0}));
	EXPECT_NO_OBJECT(ibv_import_device(context->cmd_fd));
	EXPECT_NO_OBJECT(ibv_create_qp(pd, &raw));
	CHECK_EQUAL(ibv_modify_cq(cq, &(struct ibv_modify_cq_attr){0}), EOPNOTSUPP);
	CHECK_EQUAL(ibv_modify_qp_rate_limit(qp, &(struct ibv_qp_rate_limit_attr){0}), EOPNOTSUPP);
	CHECK_EQUAL(ibv_set_ece(qp, &(struct ibv_ece){.vendor_id = 1}), EOPNOTSUPP);
}

static struct rdma_cm_id *bound(struct rdma_event_channel *channel, struct in_addr ip)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = ip};
	struct rdma_cm_id *id;

	CHECK_EQUAL(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	CHECK(!id->verbs && !id->pd);
	CHECK_EQUAL(rdma_bind_addr(id, (struct sockaddr *)&address), 0);
	CHECK(rdma_get_src_port(id));
	return id;
}

/* The host's first address has it, loopback has none; the GID is that address, if it is one of IPv4. */
static void idsHaveTheDeviceOfTheirAddress(struct ibv_context *context)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct rdma_event_channel *channel = rdma_create_event_channel();
	const struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
	struct in_addr primary = loopback;
	struct rdma_cm_id *id;
	union ibv_gid gid;

	CHECK(channel);
	id = bound(channel, loopback);
	CHECK(!id->verbs && !id->pd);
	CHECK_EQUAL(rdma_destroy_id(id), 0);
	CHECK_EQUAL(ibv_query_gid(context, 1, 1, &gid), 0);
	if (!memcmp(gid.raw, mapped, sizeof(mapped)))
		memcpy(&primary, gid.raw + sizeof(mapped), sizeof(primary));
	id = bound(channel, primary);
	CHECK((id->verbs && id->pd) == (ntohl(primary.s_addr) >> 24 != IN_LOOPBACKNET));
	CHECK_EQUAL(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct device device;

	open_all(&device, "as it was in the beginning");
	whatIsMissingSaysSo(device.context, device.pd, device.a, device.cq);
	connect_and_send(&device);
	bytesGoThrough(device.b, device.a, device.cq, device.mr, device.text);
	idsHaveTheDeviceOfTheirAddress(device.context);
	give_back(&device);
}
