/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA_PS_UDP: the client learns queue pair, Q_Key and address of the other end, with private data both ways at full
 * size; it sends, and the server answers by what it received. A reject, and nobody who listens, are UNREACHABLE. The
 * server is not told of a client that goes before the answer, which is no error.
 */
#include "cm_fixture.h"
#include "ud_fixture.h"

enum { REQUEST_BYTES = 180, REPLY_BYTES = 136, NO_LISTENER = 1, REJECTED = 2 };

static struct rdma_cm_id *open_udp_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	CHECK(!softverbs_rdma_create_id(channel, &id, NULL, RDMA_PS_UDP));
	CHECK_EQUAL(id->qp_type, IBV_QPT_UD);
	return id;
}

static void add_udp_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4},
	};

	CHECK_FAILS(softverbs_rdma_create_qp(id, NULL, &attr), EINVAL);
	attr.qp_type = IBV_QPT_UD;
	CHECK(!softverbs_rdma_create_qp(id, NULL, &attr));
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_RTS);
}

/* The rest of what was given is zeros. */
static void expect_data(const struct rdma_ud_param *param, size_t length, const char *text)
{
	const char *data = param->private_data;

	CHECK_EQUAL(param->private_data_len, length);
	CHECK(!strcmp(data, text));
	for (size_t i = strlen(text); i < length; i++)
		CHECK_EQUAL(data[i], 0);
}

static struct rdma_cm_id *expect_request(struct rdma_event_channel *channel, const struct rdma_cm_id *listener)
{
	struct rdma_cm_event *event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;

	CHECK(event->listen_id == listener);
	expect_data(&event->param.ud, REQUEST_BYTES, "question");
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK_EQUAL(id->ps, RDMA_PS_UDP);
	return id;
}

static struct rdma_cm_id *ask(struct rdma_event_channel *channel, const char *text, uint16_t port)
{
	uint8_t much[REQUEST_BYTES + 1] = {0};
	struct rdma_conn_param too_much = {.private_data = much, .private_data_len = sizeof(much)};
	struct rdma_conn_param param = {.private_data = "question", .private_data_len = 8};
	struct rdma_cm_id *id = open_udp_id(channel);

	cm_resolve(id, text, port);
	add_udp_qp(id);
	CHECK_FAILS(softverbs_rdma_connect(id, &too_much), EINVAL);
	CHECK(!softverbs_rdma_connect(id, &param));
	return id;
}

static void exchange(struct rdma_cm_id *client, struct rdma_cm_id *server, const struct rdma_ud_param *to)
{
	struct region here = create_region(client->pd, 512, IBV_ACCESS_LOCAL_WRITE);
	struct region there = create_region(server->pd, 512, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_ah_attr attr = to->ah_attr;
	struct ibv_ah *ah = softverbs_ibv_create_ah(client->pd, &attr), *back;
	struct ibv_sge sge = sge_of(&here, 0, 10);
	struct ibv_send_wr *bad, wr = ud_wr(ah, to->qp_num, 1, &sge);
	struct ibv_wc wc;

	CHECK(ah);
	CHECK_EQUAL(to->qp_num, server->qp->qp_num);
	CHECK_EQUAL(post_receive(server->qp, 2, sge_of(&there, 0, 512)), 0);
	CHECK_EQUAL(post_receive(client->qp, 3, sge_of(&here, 0, 512)), 0);
	wr.wr.ud.remote_qkey = to->qkey;
	CHECK_EQUAL(ibv_post_send(client->qp, &wr, &bad), 0);
	wc = wait_completion(server->recv_cq);
	CHECK_EQUAL(wc.byte_len, GRH_BYTES + 10);
	back = softverbs_ibv_create_ah_from_wc(server->pd, &wc, (struct ibv_grh *)there.bytes, 1);
	CHECK(back);
	sge = sge_of(&there, 0, 20);
	wr = ud_wr(back, wc.src_qp, 4, &sge);
	wr.wr.ud.remote_qkey = to->qkey;
	CHECK_EQUAL(ibv_post_send(server->qp, &wr, &bad), 0);
	wc = wait_completion(client->recv_cq);
	CHECK_EQUAL(wc.src_qp, server->qp->qp_num);
	CHECK_EQUAL(wc.byte_len, GRH_BYTES + 20);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah) + softverbs_ibv_destroy_ah(back), 0);
	destroy_region(&here);
	destroy_region(&there);
}

static void accepted(struct rdma_event_channel *channel, struct rdma_cm_id *listener, const char *text)
{
	struct rdma_conn_param param = {.private_data = "answer", .private_data_len = 6};
	struct rdma_cm_id *client = ask(channel, text, softverbs_rdma_get_src_port(listener));
	struct rdma_cm_id *server = expect_request(channel, listener);
	struct rdma_cm_event *event;

	add_udp_qp(server);
	CHECK(!softverbs_rdma_accept(server, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	CHECK(event->id == client);
	expect_data(&event->param.ud, REPLY_BYTES, "answer");
	CHECK_EQUAL(event->param.ud.qkey, RDMA_UDP_QKEY);
	exchange(client, server, &event->param.ud);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK(!test_readable(channel->fd, 0)); /* the server is told nothing */
	CHECK_FAILS(softverbs_rdma_disconnect(client), EINVAL);
	cm_close(client);
	cm_close(server);
}

static void refused(struct rdma_event_channel *channel, struct rdma_cm_id *listener)
{
	uint16_t port = softverbs_rdma_get_src_port(listener);
	struct rdma_cm_id *client = ask(channel, CM_LOOPBACK, port);
	struct rdma_cm_id *server = expect_request(channel, listener);
	struct rdma_cm_event *event;

	CHECK(!softverbs_rdma_reject(server, "no", 2));
	event = cm_expect(channel, RDMA_CM_EVENT_UNREACHABLE);
	CHECK_EQUAL(event->status, REJECTED);
	expect_data(&event->param.ud, REPLY_BYTES, "no");
	CHECK(!softverbs_rdma_ack_cm_event(event));
	cm_close(client);
	cm_close(server);

	/* A port belongs to one port space: who wants a connection finds nobody. */
	CHECK_EQUAL(cm_refusal_of(channel, CM_LOOPBACK, port, RDMA_CM_EVENT_REJECTED), 8);

	CHECK(!softverbs_rdma_destroy_id(listener));
	client = ask(channel, CM_LOOPBACK, port);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_UNREACHABLE), NO_LISTENER);
	cm_close(client);
}

static void withdrawn(struct rdma_event_channel *channel, struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = {.private_data = "answer", .private_data_len = 6};
	struct rdma_cm_id *client = ask(channel, CM_LOOPBACK, softverbs_rdma_get_src_port(listener));
	struct rdma_cm_id *server = expect_request(channel, listener);

	cm_close(client);
	CHECK(!test_readable(channel->fd, 200));
	add_udp_qp(server);
	CHECK(!softverbs_rdma_accept(server, &param));
	cm_close(server);
}

int main(void)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct sockaddr_storage any = cm_address("::", 0);

	alarm(TEST_SECONDS);
	channel = cm_channel_open();
	listener = open_udp_id(channel);
	CHECK(!softverbs_rdma_bind_addr(listener, (struct sockaddr *)&any));
	CHECK(!softverbs_rdma_listen(listener, 0));
	accepted(channel, listener, CM_LOOPBACK);
	accepted(channel, listener, "::1");
	withdrawn(channel, listener);
	refused(channel, listener);
	softverbs_rdma_destroy_event_channel(channel);
}
