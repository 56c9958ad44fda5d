/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_join_multicast: the event says how to send to the group, the queue pair is attached when it is read (not for one
 * that only sends) and detached by rdma_leave_multicast, which also takes back an event that nobody has read.
 */
#include "cm_fixture.h"
#include "ud_fixture.h"

struct node {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t memory[512];
};

/* Other tests on this host may use groups as well. */
static struct sockaddr_storage group_address(bool v6)
{
	char text[64];

	snprintf(text, sizeof(text), v6 ? "ff0e::3:%d:%d" : "239.3.%d.%d", getpid() / 256 % 256, getpid() % 256);
	return cm_address(text, 0);
}

static void open_node(struct node *node, struct rdma_event_channel *channel, const struct sockaddr_storage *group)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
	};

	CHECK(!softverbs_rdma_create_id(channel, &node->id, node, RDMA_PS_UDP));
	CHECK(!softverbs_rdma_resolve_addr(node->id, NULL, (struct sockaddr *)group, 1000));
	if (channel)
		CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	node->pd = softverbs_ibv_alloc_pd(node->id->verbs);
	CHECK(node->pd);
	CHECK(!softverbs_rdma_create_qp(node->id, node->pd, &attr));
	CHECK(node->id->pd == node->pd);
	node->mr = softverbs_ibv_reg_mr(node->pd, node->memory, sizeof(node->memory), IBV_ACCESS_LOCAL_WRITE);
	CHECK(node->mr);
}

static void close_node(struct node *node)
{
	CHECK_EQUAL(softverbs_ibv_dereg_mr(node->mr), 0);
	cm_close(node->id);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(node->pd), 0);
}

static void receive(struct node *node)
{
	CHECK_EQUAL(post_receive(node->id->qp, 1, (struct ibv_sge){(uintptr_t)node->memory, 512, node->mr->lkey}), 0);
}

/* As the event says. */
static void send_to_group(struct node *node, const struct rdma_ud_param *how)
{
	struct ibv_ah_attr attr = how->ah_attr;
	struct ibv_ah *ah = softverbs_ibv_create_ah(node->pd, &attr);
	struct ibv_sge sge = {(uintptr_t)node->memory, 10, node->mr->lkey};
	struct ibv_send_wr *bad, wr = ud_wr(ah, how->qp_num, 1, &sge);

	CHECK(ah);
	CHECK_EQUAL(how->qp_num, 0xffffff);
	CHECK_EQUAL(how->qkey, RDMA_UDP_QKEY);
	wr.wr.ud.remote_qkey = how->qkey;
	CHECK_EQUAL(ibv_post_send(node->id->qp, &wr, &bad), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
}

static struct rdma_cm_event *join(struct node *node, struct sockaddr_storage *group, bool send_only)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = (struct sockaddr *)group,
	};
	struct rdma_cm_event *event;

	if (send_only)
		CHECK(!softverbs_rdma_join_multicast_ex(node->id, &attr, node->memory));
	else
		CHECK(!softverbs_rdma_join_multicast(node->id, (struct sockaddr *)group, node->memory));
	event = cm_expect(node->id->channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	CHECK_EQUAL(event->status, 0);
	CHECK(event->id == node->id);
	CHECK(event->param.ud.private_data == node->memory);
	CHECK_EQUAL(event->param.ud.private_data_len, 0);
	return event;
}

static void leave(struct node *node, struct sockaddr_storage *group)
{
	CHECK(!softverbs_rdma_leave_multicast(node->id, (struct sockaddr *)group));
}

static void deliver(struct rdma_event_channel *channel, bool v6)
{
	struct sockaddr_storage group = group_address(v6);
	struct rdma_cm_event *event;
	static struct node member, sender;

	open_node(&member, channel, &group);
	open_node(&sender, channel, &group);
	receive(&member);
	receive(&sender);
	event = join(&member, &group, false);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	event = join(&sender, &group, true);
	send_to_group(&sender, &event->param.ud);
	CHECK_EQUAL(wait_completion(member.id->recv_cq).byte_len, GRH_BYTES + 10);
	expect_quiet(sender.id->recv_cq);
	leave(&member, &group);
	receive(&member);
	send_to_group(&sender, &event->param.ud);
	expect_quiet(member.id->recv_cq);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	leave(&sender, &group);
	close_node(&member);
	close_node(&sender);
}

static void misuse(struct rdma_event_channel *channel)
{
	struct sockaddr_storage group = group_address(false), unicast = cm_address("127.0.0.1", 0);
	struct rdma_cm_id *connected = cm_id_open(channel);
	static struct node node;

	open_node(&node, channel, &group);
	CHECK(softverbs_rdma_leave_multicast(node.id, (struct sockaddr *)&group) && errno == EADDRNOTAVAIL);
	CHECK(softverbs_rdma_join_multicast(node.id, (struct sockaddr *)&unicast, NULL) && errno == EINVAL);
	cm_resolve(connected, "127.0.0.1", htons(9));
	CHECK(softverbs_rdma_join_multicast(connected, (struct sockaddr *)&group, NULL) && errno == EINVAL);
	CHECK(!softverbs_rdma_destroy_id(connected));
	/* An event that nobody has read goes with the group, or with the id. */
	CHECK(!softverbs_rdma_join_multicast(node.id, (struct sockaddr *)&group, NULL));
	leave(&node, &group);
	CHECK(!test_readable(channel->fd, 0));
	CHECK(!softverbs_rdma_ack_cm_event(join(&node, &group, false)));
	CHECK(!softverbs_rdma_join_multicast(node.id, (struct sockaddr *)&group, NULL));
	close_node(&node);
}

/* Without a channel the call waits for its event. */
static void synchronous(void)
{
	struct sockaddr_storage group = group_address(false);
	static struct node node;

	open_node(&node, NULL, &group);
	CHECK(!softverbs_rdma_join_multicast(node.id, (struct sockaddr *)&group, NULL));
	CHECK_EQUAL(node.id->event->event, RDMA_CM_EVENT_MULTICAST_JOIN);
	receive(&node);
	send_to_group(&node, &node.id->event->param.ud);
	CHECK_EQUAL(wait_completion(node.id->recv_cq).byte_len, GRH_BYTES + 10);
	leave(&node, &group);
	close_node(&node);
}

int main(void)
{
	struct rdma_event_channel *channel;

	alarm(TEST_SECONDS);
	channel = cm_channel_open();
	deliver(channel, false);
	deliver(channel, true);
	misuse(channel);
	synchronous();
	softverbs_rdma_destroy_event_channel(channel);
}
