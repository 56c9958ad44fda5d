/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that was given a file and takes nothing any more, while other files come and go: what it is to be told about them
 * does not pile up, and the last thing that it finds when it reads on is that files are revoked.
 */
#include "memory/peer_table.h"
#include "raw_responder.h"
#include "softdev_fixture.h"

#include <sys/uio.h>

enum { BYTES = 4096, ROUNDS = 3000, MOST_FRAMES = 1000, HIS_QPN = 0x432107, QUIET_MS = 1000 };

/* The queue pair's answer, and the descriptor of the table that comes with its header. */
static int receive_table(int fd)
{
	union {
		char buffer[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct frame frame;
	struct qp_open_reply reply;
	struct iovec iov = {&frame, sizeof(frame)};
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	int table_fd;

	CHECK_EQUAL(recvmsg(fd, &message, MSG_WAITALL), sizeof(frame));
	CHECK(frame.op == WIRE_QP_OPEN_REPLY && !frame.status && CMSG_FIRSTHDR(&message));
	memcpy(&table_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(table_fd));
	CHECK_EQUAL(recv(fd, &reply, sizeof(reply), MSG_WAITALL), sizeof(reply));
	return table_fd;
}

/* Connects to the queue pair as a peer would, and asks for the file of the region. */
static int take_file(const struct address *to, const struct region *region)
{
	struct qp_open open = {.source_qpn = HIS_QPN,
			       .destination_qpn = to->qpn,
			       .source_gid = to->gid,
			       .destination_gid = to->gid,
			       .qp_type = IBV_QPT_RC};
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(open)};
	uint32_t slot = region->mr->rkey >> 16;
	int fd = raw_link_connect(to->qpn >> 8), table_fd;
	const struct shared_table *table;

	raw_link_shake_hands(fd, LINK_KIND_QP, raw_write_frame);
	CHECK(raw_write_frame(fd, &frame, &open));
	table_fd = receive_table(fd);
	table = mmap(NULL, sizeof(*table), PROT_READ, MAP_SHARED, table_fd, 0);
	CHECK(table != MAP_FAILED);
	frame = (struct frame){.op = WIRE_FILE_REQUEST, .rkey = region->mr->rkey, .arg = table->mr[slot].generation};
	CHECK(raw_write_frame(fd, &frame, NULL));
	CHECK(raw_read_frame(fd, &frame, NULL, 0)); /* and drops the descriptor */
	CHECK(frame.op == WIRE_FILE_REPLY && !frame.status);
	CHECK(!munmap((void *)(uintptr_t)table, sizeof(*table)));
	close(table_fd);
	return fd;
}

/* A file that somebody else reads, and that is gone then. */
static void use_file(struct pair *pair, struct region *sink)
{
	struct region region = create_region(pair->b.pd, BYTES, IBV_ACCESS_REMOTE_READ);

	CHECK_EQUAL(post_read(pair->a.qp, 1, sink, BYTES, (uintptr_t)region.bytes, region.mr->rkey), 0);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	destroy_region(&region);
}

int main(void)
{
	struct address raw = {.qpn = HIS_QPN};
	struct region first, sink;
	struct frame frame = {0};
	struct pair pair;
	struct side asked;
	int fd, frames = 0;

	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_PATH", "file", 1);
	open_pair(&pair, NULL, NULL);
	open_side(&asked, 16, 16);
	raw.gid = address_of(&asked).gid;
	connect_side(&asked, &raw, NULL);
	first = create_region(asked.pd, BYTES, IBV_ACCESS_REMOTE_READ);
	sink = create_region(pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	raw = address_of(&asked);
	fd = take_file(&raw, &first);
	for (int i = 0; i < ROUNDS; i++)
		use_file(&pair, &sink);
	for (; test_readable(fd, QUIET_MS); frames++)
		CHECK(raw_read_frame(fd, &frame, NULL, 0));
	CHECK_EQUAL(frame.op, WIRE_FILE_REVOKE);
	CHECK(frames < MOST_FRAMES);
	close(fd);
	destroy_region(&first);
	destroy_region(&sink);
	close_side(&asked);
	close_pair(&pair);
}
