/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody on the port: REJECTED at once. A stranger's socket on it that never answers: UNREACHABLE. */
#include "cm_fixture.h"

int main(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct sockaddr_storage address = cm_address("127.0.0.1", 0);
	struct sockaddr_in bound;
	socklen_t length = sizeof(bound);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t start = test_now_ms();

	alarm(TEST_SECONDS);
	CHECK(!bind(fd, (struct sockaddr *)&address, sizeof(struct sockaddr_in)));
	CHECK(!getsockname(fd, (struct sockaddr *)&bound, &length));
	CHECK_EQUAL(cm_refusal_of(channel, CM_LOOPBACK, bound.sin_port, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	CHECK(test_now_ms() - start < 10000 * TEST_SLOWER);
	close(fd);
	start = test_now_ms();
	CHECK_EQUAL(cm_refusal_of(channel, CM_LOOPBACK, bound.sin_port, RDMA_CM_EVENT_REJECTED), 8);
	CHECK(test_now_ms() - start < 1000 * TEST_SLOWER);
	softverbs_rdma_destroy_event_channel(channel);
}
