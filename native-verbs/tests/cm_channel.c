/* SPDX-License-Identifier: Apache-2.0 */
/* Event channels: O_NONBLOCK gives EAGAIN, the descriptor is readable per event, migration takes events along. */
#include <fcntl.h>

#include "cm_fixture.h"

static void request_address(struct rdma_cm_id *id)
{
	struct sockaddr_storage address = cm_address("127.0.0.1", htons(4000));

	CHECK(!softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000));
}

int main(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_event_channel *other = cm_channel_open();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id, *second;

	alarm(TEST_SECONDS);
	CHECK(!test_readable(channel->fd, 0));
	CHECK(!fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	CHECK_EQUAL(softverbs_rdma_get_cm_event(channel, &event), -1);
	CHECK_EQUAL(errno, EAGAIN);

	id = cm_id_open(channel);
	second = cm_id_open(channel);
	request_address(id);
	request_address(second);
	CHECK(test_readable(channel->fd, 0));
	event = cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(event->id == id);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK(test_readable(channel->fd, 0));

	CHECK(!softverbs_rdma_migrate_id(second, other));
	CHECK(second->channel == other);
	CHECK(!test_readable(channel->fd, 0));
	event = cm_expect(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(event->id == second);
	CHECK(!softverbs_rdma_ack_cm_event(event));

	CHECK_EQUAL(softverbs_rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), -1);
	CHECK_EQUAL(errno, EOPNOTSUPP);
	CHECK_EQUAL(softverbs_rdma_create_id(channel, &id, NULL, (enum rdma_port_space)7), -1);
	CHECK_EQUAL(errno, EINVAL);
	CHECK(!strcmp(softverbs_rdma_event_str(RDMA_CM_EVENT_REJECTED), "RDMA_CM_EVENT_REJECTED"));
	CHECK(!strcmp(softverbs_rdma_event_str((enum rdma_cm_event_type)99), "UNKNOWN EVENT"));

	CHECK(!softverbs_rdma_destroy_id(id));
	CHECK(!softverbs_rdma_destroy_id(second));
	softverbs_rdma_destroy_event_channel(channel);
	softverbs_rdma_destroy_event_channel(other);
	return 0;
}
