/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_join_multicast attaches the queue pair of an id and says where to send; what one id sends there the other one
 * receives, until it leaves. One that joins to send only does not receive.
 */
#include "cm_fixture.h"

enum { LENGTH = 512, GRH_BYTES = 40 };

static uint8_t memory[2][LENGTH + GRH_BYTES];
static const char context[] = "what the program remembers";

struct member {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct rdma_ud_param way;
};

static struct member join(struct rdma_event_channel *channel, int index, const char *text, bool send_only)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD,
					.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct sockaddr_storage group = cm_address(text, 0), any = cm_address(CM_LOOPBACK, 0);
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = (struct sockaddr *)&group,
	};
	struct rdma_cm_event *event;
	struct member member;

	CHECK(!softverbs_rdma_create_id(channel, &member.id, NULL, RDMA_PS_UDP));
	CHECK(!softverbs_rdma_resolve_addr(member.id, (struct sockaddr *)&any, (struct sockaddr *)&group, 1000));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	CHECK(!softverbs_rdma_create_qp(member.id, NULL, &init));
	member.mr = softverbs_ibv_reg_mr(member.id->pd, memory[index], sizeof(memory[index]), IBV_ACCESS_LOCAL_WRITE);
	CHECK(member.mr);
	CHECK(!(send_only ? softverbs_rdma_join_multicast_ex(member.id, &attr, (void *)(uintptr_t)context)
			  : softverbs_rdma_join_multicast(member.id, (struct sockaddr *)&group, (void *)(uintptr_t)context)));
	event = cm_expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	CHECK(event->id == member.id && event->param.ud.private_data == context);
	CHECK_EQUAL(event->param.ud.qp_num, 0xffffff);
	member.way = event->param.ud;
	CHECK(!softverbs_rdma_ack_cm_event(event));
	return member;
}

static void receive(const struct member *member, int index)
{
	struct ibv_sge sge = {(uintptr_t)memory[index], sizeof(memory[index]), member->mr->lkey};
	struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

	CHECK_EQUAL(ibv_post_recv(member->id->qp, &wr, &bad), 0);
}

static void send_by(const struct member *member, int index)
{
	struct ibv_sge sge = {(uintptr_t)memory[index], LENGTH, member->mr->lkey};
	struct ibv_ah *ah = softverbs_ibv_create_ah(member->id->pd, (struct ibv_ah_attr *)(uintptr_t)&member->way.ah_attr);
	struct ibv_send_wr *bad, wr = {.sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_SEND,
				       .send_flags = IBV_SEND_SIGNALED,
				       .wr.ud = {ah, member->way.qp_num, member->way.qkey}};
	struct ibv_wc wc;

	CHECK(ah && !ibv_post_send(member->id->qp, &wr, &bad));
	while (!ibv_poll_cq(member->id->send_cq, 1, &wc))
		;
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
}

/* Returns whether something has come, after a time in which it would have if nothing is expected. */
static bool has_received(const struct member *member, bool expected)
{
	uint64_t deadline = test_now_ms() + (expected ? EVENT_WAIT_MS : 300);
	struct ibv_wc wc;

	while (test_now_ms() < deadline)
		if (ibv_poll_cq(member->id->recv_cq, 1, &wc))
			return wc.status == IBV_WC_SUCCESS;
	return false;
}

static void end(struct member *member)
{
	CHECK_EQUAL(softverbs_ibv_dereg_mr(member->mr), 0);
	cm_close(member->id);
}

int main(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct sockaddr_storage group = cm_address("239.77.2.2", 0);
	struct member from, to;

	from = join(channel, 0, "239.77.2.2", true);
	to = join(channel, 1, "239.77.2.2", false);
	memset(memory[0], 0x3c, LENGTH);
	receive(&to, 1);
	receive(&from, 0);
	send_by(&from, 0);
	CHECK(has_received(&to, true));
	CHECK(!memcmp(memory[1] + GRH_BYTES, memory[0], LENGTH));
	CHECK(!has_received(&from, false));
	CHECK(!softverbs_rdma_leave_multicast(to.id, (struct sockaddr *)&group));
	CHECK(softverbs_rdma_leave_multicast(to.id, (struct sockaddr *)&group) && errno == EADDRNOTAVAIL);
	receive(&to, 1);
	send_by(&from, 0);
	CHECK(!has_received(&to, false));
	end(&from);
	end(&to);
	softverbs_rdma_destroy_event_channel(channel);
	cm_expect_nothing_left();
}
