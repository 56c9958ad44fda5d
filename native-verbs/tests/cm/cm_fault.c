/* SPDX-License-Identifier: Apache-2.0 */
/* A connection manager that rejects, does not answer, is late, or reports something else. */
#include "cm_fixture.h"
#include "fault_fixture.h"

struct ends {
	struct rdma_event_channel *near_channel, *far_channel;
	struct rdma_cm_id *listener, *id;
	uint16_t port;
};

static void open_ends(struct ends *ends)
{
	ends->near_channel = cm_channel_open();
	ends->far_channel = cm_channel_open();
	ends->listener = cm_listen_on(ends->far_channel, "127.0.0.1", 8, &ends->port);
	ends->id = cm_id_open(ends->near_channel);
}

static void start_connect(struct ends *ends)
{
	struct rdma_conn_param param = cm_param(NULL, 0);

	cm_resolve(ends->id, "127.0.0.1", ends->port);
	cm_add_qp(ends->id);
	CHECK(!softverbs_rdma_connect(ends->id, &param));
}

static void close_ends(struct ends *ends)
{
	cm_close(ends->id);
	CHECK(!softverbs_rdma_destroy_id(ends->listener));
	softverbs_rdma_destroy_event_channel(ends->near_channel);
	softverbs_rdma_destroy_event_channel(ends->far_channel);
}

static void requestIsRejected(void)
{
	struct ends ends;

	open_ends(&ends);
	start_connect(&ends);
	CHECK_EQUAL(cm_take(ends.near_channel, RDMA_CM_EVENT_REJECTED), 24);
	CHECK(!test_readable(ends.far_channel->fd, 100));
	close_ends(&ends);
}

static void nobodyAnswersTheLookUp(void)
{
	struct ends ends;

	open_ends(&ends);
	start_connect(&ends);
	CHECK_EQUAL(cm_take(ends.near_channel, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	close_ends(&ends);
}

/* One lost datagram is sent again: nobody notices. */
static void theLookUpIsRepeated(void)
{
	struct ends ends;
	struct rdma_cm_id *accepted;
	struct rdma_conn_param param = cm_param(NULL, 0);

	open_ends(&ends);
	start_connect(&ends);
	accepted = cm_take_request(ends.far_channel, NULL);
	CHECK(!softverbs_rdma_accept(accepted, &param));
	CHECK_EQUAL(cm_take(ends.near_channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK_EQUAL(cm_take(ends.far_channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	cm_close(accepted);
	close_ends(&ends);
}

static void addressCannotBeResolved(void)
{
	struct sockaddr_storage address = cm_address("127.0.0.1", htons(9));
	struct ends ends;

	open_ends(&ends);
	CHECK(!softverbs_rdma_resolve_addr(ends.id, NULL, (struct sockaddr *)&address, 1000));
	CHECK_EQUAL(cm_take(ends.near_channel, RDMA_CM_EVENT_ADDR_ERROR), -EHOSTUNREACH);
	close_ends(&ends);
}

static void replyBecomesUnreachable(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *accepted;
	struct ends ends;

	open_ends(&ends);
	start_connect(&ends);
	accepted = cm_take_request(ends.far_channel, NULL);
	CHECK(!softverbs_rdma_accept(accepted, &param));
	CHECK_EQUAL(cm_take(ends.near_channel, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	cm_close(accepted);
	close_ends(&ends);
}

static void eventsAreLate(void)
{
	struct ends ends;
	uint64_t start;

	open_ends(&ends);
	start = test_now_ms();
	start_connect(&ends);
	CHECK(test_now_ms() - start >= 290);
	cm_close(cm_take_request(ends.far_channel, NULL));
	CHECK_EQUAL(cm_take(ends.near_channel, RDMA_CM_EVENT_REJECTED), 28);
	close_ends(&ends);
}

/* An event that is held back for ever does not keep its id. */
static void lostEventsDoNotKeepTheId(void)
{
	struct ends ends;

	open_ends(&ends);
	start_connect(&ends);
	CHECK(!test_readable(ends.far_channel->fd, 300));
	close_ends(&ends);
}

static void theRequestIsLateAndTheReplyToo(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *accepted;
	struct ends ends;
	uint64_t start;

	open_ends(&ends);
	start = test_now_ms();
	start_connect(&ends);
	accepted = cm_take_request(ends.far_channel, NULL);
	CHECK(test_now_ms() - start >= 190);
	CHECK(!softverbs_rdma_accept(accepted, &param));
	CHECK_EQUAL(cm_take(ends.near_channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK(test_now_ms() - start >= 390);
	cm_close(accepted);
	close_ends(&ends);
}

static void callsFail(void)
{
	struct sockaddr_storage address = cm_address("127.0.0.1", 0);
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct ends ends;

	CHECK(!softverbs_rdma_create_event_channel() && errno == EMFILE);
	ends.near_channel = cm_channel_open();
	ends.far_channel = cm_channel_open();
	CHECK(softverbs_rdma_create_id(ends.near_channel, &ends.id, NULL, RDMA_PS_TCP) == -1 && errno == ENOMEM);
	ends.listener = cm_id_open(ends.far_channel);
	CHECK(softverbs_rdma_bind_addr(ends.listener, (struct sockaddr *)&address) == -1 && errno == EADDRINUSE);
	CHECK(!softverbs_rdma_bind_addr(ends.listener, (struct sockaddr *)&address));
	CHECK(softverbs_rdma_listen(ends.listener, 8) == -1 && errno == EACCES);
	CHECK(!softverbs_rdma_listen(ends.listener, 8));
	ends.port = softverbs_rdma_get_src_port(ends.listener);
	ends.id = cm_id_open(ends.near_channel);
	address = cm_address("127.0.0.1", ends.port);
	CHECK(softverbs_rdma_resolve_addr(ends.id, NULL, (struct sockaddr *)&address, 1000) == -1);
	CHECK_EQUAL(errno, ENETUNREACH);
	CHECK(!softverbs_rdma_resolve_addr(ends.id, NULL, (struct sockaddr *)&address, 1000));
	cm_take(ends.near_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(softverbs_rdma_resolve_route(ends.id, 1000) == -1 && errno == ENETUNREACH);
	CHECK(!softverbs_rdma_resolve_route(ends.id, 1000));
	cm_take(ends.near_channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(softverbs_rdma_connect(ends.id, &param) == -1 && errno == ENOMEM);
	cm_add_qp(ends.id);
	CHECK(!softverbs_rdma_connect(ends.id, &param));
	{
		struct rdma_cm_id *accepted = cm_take_request(ends.far_channel, NULL);

		CHECK(softverbs_rdma_accept(accepted, &param) == -1 && errno == ENOMEM);
		CHECK(!softverbs_rdma_accept(accepted, &param));
		CHECK_EQUAL(cm_take(ends.near_channel, RDMA_CM_EVENT_ESTABLISHED), 0);
		CHECK(softverbs_rdma_disconnect(ends.id) == -1 && errno == EIO);
		cm_close(accepted);
	}
	close_ends(&ends);
}

static const struct fault_case cases[] = {
	{"cm_frame:op=REQUEST,reason=24", .body = requestIsRejected},
	{"cm_datagram:kind=REQUEST,drop,count=all", .body = nobodyAnswersTheLookUp},
	{"cm_datagram:kind=REPLY,drop", .body = theLookUpIsRepeated},
	{"cm_event:type=ADDR_RESOLVED,event=ADDR_ERROR,errno=EHOSTUNREACH", .body = addressCannotBeResolved},
	{"cm_event:type=CONNECT_RESPONSE,event=UNREACHABLE,errno=ETIMEDOUT", .body = replyBecomesUnreachable},
	{"cm_event:type=ADDR_RESOLVED,delay=300", .body = eventsAreLate},
	{"cm_event:type=CONNECT_REQUEST,drop", .body = lostEventsDoNotKeepTheId},
	{"cm_frame:op=REQUEST,drop", .body = lostEventsDoNotKeepTheId},
	{"cm_frame:op=REQUEST,delay=200;cm_frame:op=REPLY,delay=200", .body = theRequestIsLateAndTheReplyToo},
	{"create_event_channel:errno=EMFILE;create_id:errno=ENOMEM;bind_addr:errno=EADDRINUSE;listen:errno=EACCES;"
	 "resolve_addr:errno=ENETUNREACH;resolve_route:errno=ENETUNREACH;connect:errno=ENOMEM;accept:errno=ENOMEM;"
	 "disconnect:errno=EIO", .body = callsFail},
};

int main(int argc, char **argv)
{
	return RUN_FAULT_CASES(cases);
}
