/* SPDX-License-Identifier: Apache-2.0 */
/* A connection manager that rejects, does not answer, is late, or reports something else. */
#include "cm_fixture.h"
#include "fault_fixture.h"

/* A scene whose active id has asked. */
static struct cm_scene asked(void)
{
	struct cm_scene scene = cm_open_scene();

	cm_scene_ask(&scene);
	return scene;
}

static void accept_request(struct cm_scene *scene)
{
	scene->passive = cm_take_request(scene->there, NULL);
	cm_accept(scene->passive);
}

static void requestIsRejected(void)
{
	struct cm_scene scene = asked();

	CHECK_EQUAL(cm_take(scene.here, RDMA_CM_EVENT_REJECTED), 24);
	CHECK(!test_readable(scene.there->fd, 100));
	cm_close_scene(&scene);
}

static void nobodyAnswersTheLookUp(void)
{
	struct cm_scene scene = asked();

	CHECK_EQUAL(cm_take(scene.here, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	cm_close_scene(&scene);
}

/* One lost datagram is sent again: nobody notices. */
static void theLookUpIsRepeated(void)
{
	struct cm_scene scene = asked();

	accept_request(&scene);
	cm_scene_established(&scene);
	cm_close_scene(&scene);
}

static void addressCannotBeResolved(void)
{
	struct cm_scene scene = cm_open_scene();

	cm_request_address(scene.active, CM_LOOPBACK, htons(9));
	CHECK_EQUAL(cm_take(scene.here, RDMA_CM_EVENT_ADDR_ERROR), -EHOSTUNREACH);
	cm_close_scene(&scene);
}

static void replyBecomesUnreachable(void)
{
	struct cm_scene scene = asked();

	accept_request(&scene);
	CHECK_EQUAL(cm_take(scene.here, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	cm_close_scene(&scene);
}

static void eventsAreLate(void)
{
	uint64_t start = test_now_ms();
	struct cm_scene scene = asked();

	CHECK(test_now_ms() - start >= 290);
	cm_close(cm_take_request(scene.there, NULL));
	CHECK_EQUAL(cm_take(scene.here, RDMA_CM_EVENT_REJECTED), 28);
	cm_close_scene(&scene);
}

/* An event that is held back for ever does not keep its id. */
static void lostEventsDoNotKeepTheId(void)
{
	struct cm_scene scene = asked();

	CHECK(!test_readable(scene.there->fd, 300));
	cm_close_scene(&scene);
}

static void theRequestIsLateAndTheReplyToo(void)
{
	uint64_t start = test_now_ms();
	struct cm_scene scene = asked();

	scene.passive = cm_take_request(scene.there, NULL);
	CHECK(test_now_ms() - start >= 190);
	cm_accept(scene.passive);
	CHECK_EQUAL(cm_take(scene.here, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK(test_now_ms() - start >= 390);
	cm_close_scene(&scene);
}

/* Each call once; the next one works. */
static void callsFail(void)
{
	struct sockaddr_storage address = cm_address(CM_LOOPBACK, 0);
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct cm_scene scene = {.here = NULL};

	CHECK_REFUSED(softverbs_rdma_create_event_channel(), EMFILE);
	scene.here = cm_channel_open();
	scene.there = cm_channel_open();
	CHECK_FAILS(softverbs_rdma_create_id(scene.here, &scene.active, NULL, RDMA_PS_TCP), ENOMEM);
	scene.listener = cm_id_open(scene.there);
	CHECK_FAILS(softverbs_rdma_bind_addr(scene.listener, (struct sockaddr *)&address), EADDRINUSE);
	CHECK(!softverbs_rdma_bind_addr(scene.listener, (struct sockaddr *)&address));
	CHECK_FAILS(softverbs_rdma_listen(scene.listener, 8), EACCES);
	CHECK(!softverbs_rdma_listen(scene.listener, 8));
	scene.port = softverbs_rdma_get_src_port(scene.listener);
	scene.active = cm_id_open(scene.here);
	address = cm_address(CM_LOOPBACK, scene.port);
	CHECK_FAILS(softverbs_rdma_resolve_addr(scene.active, NULL, (struct sockaddr *)&address, 1000), ENETUNREACH);
	cm_request_address(scene.active, CM_LOOPBACK, scene.port);
	cm_take(scene.here, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK_FAILS(softverbs_rdma_resolve_route(scene.active, 1000), ENETUNREACH);
	CHECK(!softverbs_rdma_resolve_route(scene.active, 1000));
	cm_take(scene.here, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK_FAILS(softverbs_rdma_connect(scene.active, &param), ENOMEM);
	cm_add_qp(scene.active);
	cm_connect(scene.active);
	scene.passive = cm_take_request(scene.there, NULL);
	CHECK_FAILS(softverbs_rdma_accept(scene.passive, &param), ENOMEM);
	cm_accept(scene.passive);
	CHECK_EQUAL(cm_take(scene.here, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK_FAILS(softverbs_rdma_disconnect(scene.active), EIO);
	cm_close_scene(&scene);
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

FAULT_MAIN(cases)
