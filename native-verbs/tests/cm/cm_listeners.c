/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several listeners on one port: one for each address, or one for each family, gets its own requests and no others. While
 * an id listens nobody else may have its address, whatever both wish for; before that they may, if both wish for it.
 */
#include "cm_fixture.h"

static void set_flag(struct rdma_cm_id *id, int option)
{
	int on = 1;

	CHECK(!softverbs_rdma_set_option(id, RDMA_OPTION_ID, option, &on, sizeof(on)));
}

/* A new id with that option, bound to the address. */
static struct rdma_cm_id *bind_to(struct rdma_event_channel *channel, const char *text, uint16_t port, int option)
{
	struct sockaddr_storage address = cm_address(text, port);
	struct rdma_cm_id *id = cm_id_open(channel);

	set_flag(id, option);
	if (!softverbs_rdma_bind_addr(id, (struct sockaddr *)&address))
		return id;
	CHECK_EQUAL(errno, EADDRINUSE);
	CHECK(!softverbs_rdma_destroy_id(id));
	return NULL;
}

static bool has_loopback_v6(struct rdma_event_channel *channel)
{
	struct sockaddr_storage address = cm_address("::1", 0);
	struct rdma_cm_id *id = cm_id_open(channel);
	bool has = !softverbs_rdma_bind_addr(id, (struct sockaddr *)&address);

	CHECK(!softverbs_rdma_destroy_id(id));
	return has;
}

static void expect_at(struct rdma_event_channel *channel, const struct rdma_cm_id *listener, const char *text)
{
	uint16_t port = softverbs_rdma_get_src_port((struct rdma_cm_id *)(uintptr_t)listener);
	struct rdma_cm_id *id = cm_ask(channel, text, port), *passive;
	struct rdma_cm_event *event;

	event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK(event->listen_id == listener);
	passive = event->id;
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK(!softverbs_rdma_destroy_id(passive));
	cm_take(channel, RDMA_CM_EVENT_REJECTED);
	cm_close(id);
}

static void one_for_each_family(struct rdma_event_channel *channel, bool v6_first)
{
	bool has_v6 = has_loopback_v6(channel);
	struct rdma_cm_id *v6 = bind_to(channel, "::", 0, RDMA_OPTION_ID_AFONLY), *v4;

	CHECK(v6);
	v4 = bind_to(channel, "0.0.0.0", softverbs_rdma_get_src_port(v6),
		     v6_first ? RDMA_OPTION_ID_AFONLY : RDMA_OPTION_ID_REUSEADDR);
	CHECK(v4);
	CHECK(!softverbs_rdma_listen(v6_first ? v6 : v4, 4));
	CHECK(!softverbs_rdma_listen(v6_first ? v4 : v6, 4));
	expect_at(channel, v4, "127.0.0.1");
	if (has_v6)
		expect_at(channel, v6, "::1");
	CHECK(!softverbs_rdma_destroy_id(v4));
	CHECK(!softverbs_rdma_destroy_id(v6));
}

static void one_for_each_address(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *first = bind_to(channel, "127.0.0.1", 0, RDMA_OPTION_ID_REUSEADDR);
	uint16_t port = softverbs_rdma_get_src_port(first);
	struct rdma_cm_id *second = bind_to(channel, "127.0.0.2", port, RDMA_OPTION_ID_REUSEADDR);
	struct rdma_cm_id *same = bind_to(channel, "127.0.0.2", port, RDMA_OPTION_ID_REUSEADDR);

	CHECK(second && same);
	CHECK(!softverbs_rdma_listen(first, 4));
	CHECK(!softverbs_rdma_listen(second, 4));
	CHECK_FAILS(softverbs_rdma_listen(same, 4), EADDRINUSE);
	CHECK(!softverbs_rdma_destroy_id(same));
	expect_at(channel, first, "127.0.0.1");
	expect_at(channel, second, "127.0.0.2");
	CHECK(!bind_to(channel, "127.0.0.1", port, RDMA_OPTION_ID_REUSEADDR));
	CHECK(!softverbs_rdma_destroy_id(first));
	CHECK(!softverbs_rdma_destroy_id(second));
}

/* An id that is bound to both families and then wants one only, before it listens. */
static void one_family_after_all(struct rdma_event_channel *channel)
{
	struct sockaddr_storage any = cm_address("::", 0);
	struct rdma_cm_id *listener = cm_id_open(channel);
	uint16_t port;

	CHECK(!softverbs_rdma_bind_addr(listener, (struct sockaddr *)&any));
	set_flag(listener, RDMA_OPTION_ID_AFONLY);
	CHECK(!softverbs_rdma_listen(listener, 4));
	port = softverbs_rdma_get_src_port(listener);
	CHECK_EQUAL(cm_refusal_of(channel, CM_LOOPBACK, port, RDMA_CM_EVENT_REJECTED), 8);
	if (has_loopback_v6(channel))
		expect_at(channel, listener, "::1");
	CHECK(!softverbs_rdma_destroy_id(listener));
}

int main(void)
{
	struct rdma_event_channel *channel;

	alarm(TEST_SECONDS);
	channel = cm_channel_open();
	one_for_each_family(channel, true);
	one_for_each_family(channel, false);
	one_for_each_address(channel);
	one_family_after_all(channel);
	softverbs_rdma_destroy_event_channel(channel);
}
