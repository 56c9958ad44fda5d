/* SPDX-License-Identifier: Apache-2.0 */
/* Events that do not come from the network: those of the application, and the outcome of rdma_resolve_addrinfo. */
#include "cm_fixture.h"

/* Newer than the headers. */
enum { ADDRINFO_RESOLVED = 16, ADDRINFO_ERROR, USER, INTERNAL };
enum { RAI_SA_FLAG = 0x10, RAI_DNS_FLAG = 0x20 };

static int write_event(struct rdma_cm_id *id, int type, int status, uint64_t argument)
{
	return softverbs_rdma_write_cm_event(id, (enum rdma_cm_event_type)type, status, argument);
}

static void expect_written(struct rdma_cm_id *id, int type, int status, uint64_t argument)
{
	struct rdma_cm_event *event = cm_expect(id->channel, (enum rdma_cm_event_type)type);
	uint64_t found;

	memcpy(&found, &event->param, sizeof(found));
	CHECK(event->id == id && !event->listen_id);
	CHECK_EQUAL(event->status, status);
	CHECK_EQUAL(found, argument);
	CHECK(!softverbs_rdma_ack_cm_event(event));
}

static void theApplicationWritesToItsChannel(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = cm_id_open(channel);

	CHECK(!write_event(id, USER, -5, 0x55667788aabbccdd));
	CHECK(!write_event(id, INTERNAL, 7, 0));
	expect_written(id, USER, -5, 0x55667788aabbccdd);
	expect_written(id, INTERNAL, 7, 0);
	CHECK(write_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0) && errno == EINVAL);
	CHECK(write_event(id, INTERNAL + 1, 0, 0) && errno == EINVAL);
	CHECK(!test_readable(channel->fd, 0));
	CHECK(!strcmp(softverbs_rdma_event_str((enum rdma_cm_event_type)USER), "RDMA_CM_EVENT_USER"));
	CHECK(!write_event(id, USER, 0, 1));
	CHECK(!softverbs_rdma_destroy_id(id)); /* and what nobody has read */
	CHECK(!test_readable(channel->fd, 0));
}

static int resolve(struct rdma_cm_id *id, const char *node, int flags)
{
	const struct rdma_addrinfo hints = {.ai_flags = flags};

	return softverbs_rdma_resolve_addrinfo(id, node, "4711", &hints);
}

static void namesAreResolvedWithAnEvent(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = cm_id_open(channel);
	struct rdma_addrinfo *found;

	CHECK(softverbs_rdma_query_addrinfo(id, &found) && errno == EINVAL);
	CHECK(!resolve(id, "127.0.0.2", RAI_DNS_FLAG));
	CHECK(!resolve(id, "127.0.0.1", 0));
	expect_written(id, ADDRINFO_RESOLVED, 0, 0);
	expect_written(id, ADDRINFO_RESOLVED, 0, 0);
	CHECK(!softverbs_rdma_query_addrinfo(id, &found));
	CHECK_EQUAL(((struct sockaddr_in *)found->ai_dst_addr)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	CHECK_EQUAL(((struct sockaddr_in *)found->ai_dst_addr)->sin_port, htons(4711));
	softverbs_rdma_freeaddrinfo(found);
	CHECK(softverbs_rdma_query_addrinfo(id, &found) && errno == EINVAL);
	CHECK(!resolve(id, "no number", RAI_NUMERICHOST));
	expect_written(id, ADDRINFO_ERROR, -EADDRNOTAVAIL, 0);
	CHECK(resolve(id, NULL, RAI_SA_FLAG) && errno == EOPNOTSUPP);
	CHECK(resolve(id, NULL, RAI_SA_FLAG | RAI_DNS_FLAG) && errno == EINVAL);
	CHECK(softverbs_rdma_resolve_addrinfo(id, NULL, NULL, NULL) && errno == EINVAL);
	CHECK(!test_readable(channel->fd, 0));
	CHECK(!resolve(id, "127.0.0.1", 0));
	CHECK(!softverbs_rdma_destroy_id(id)); /* and what was found */
}

static void synchronousIdsWait(void)
{
	struct rdma_addrinfo *found;
	struct rdma_cm_id *id;

	CHECK(!softverbs_rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	CHECK(!resolve(id, "127.0.0.1", 0));
	CHECK(!softverbs_rdma_query_addrinfo(id, &found));
	softverbs_rdma_freeaddrinfo(found);
	CHECK(resolve(id, "no number", RAI_NUMERICHOST) && errno == EADDRNOTAVAIL);
	CHECK(!softverbs_rdma_destroy_id(id));
}

int main(void)
{
	struct rdma_event_channel *channel = cm_channel_open();

	alarm(TEST_SECONDS);
	theApplicationWritesToItsChannel(channel);
	namesAreResolvedWithAnEvent(channel);
	synchronousIdsWait();
	softverbs_rdma_destroy_event_channel(channel);
}
