/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers that ask and never take the answers, and peers that connect and say nothing: the process that they pester keeps its
 * memory and its descriptors, and serves the others in time.
 */
#include "descriptors.h"
#include "memory/peer_table.h"
#include "offer.h"
#include "raw_responder.h"

enum { HIS_QPN = 0x432107, BYTES = 65536, ASKED = 20000, CONNECTIONS = 600, ALLOWED_DESCRIPTORS = 300 };

/* The reply to QP_OPEN and the table of the regions that comes with it. */
static const struct shared_table *receive_reply(int fd)
{
	struct qp_open_reply reply;
	struct frame frame;
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&frame, sizeof(frame)};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
				 .msg_controllen = sizeof(control)};
	const struct shared_table *table;
	int table_fd;

	CHECK_EQUAL(recvmsg(fd, &message, MSG_WAITALL), sizeof(frame));
	CHECK_EQUAL(frame.op, WIRE_QP_OPEN_REPLY);
	CHECK_EQUAL(frame.status, 0);
	CHECK_EQUAL(recv(fd, &reply, sizeof(reply), MSG_WAITALL), sizeof(reply));
	CHECK(CMSG_FIRSTHDR(&message));
	memcpy(&table_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(table_fd));
	table = mmap(NULL, sizeof(*table), PROT_READ, MAP_SHARED, table_fd, 0);
	CHECK(table != MAP_FAILED);
	close(table_fd);
	return table;
}

static int open_queue_pair(const struct offer *offer, const struct shared_table **table)
{
	struct qp_open open = {.source_qpn = HIS_QPN,
			       .destination_qpn = offer->address.qpn,
			       .source_gid = offer->address.gid,
			       .destination_gid = offer->address.gid,
			       .qp_type = IBV_QPT_RC};
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(open)};
	int fd = raw_link_connect(offer->address.qpn >> 8);

	raw_link_shake_hands(fd, LINK_KIND_QP, raw_write_frame);
	CHECK(raw_write_frame(fd, &frame, &open));
	*table = receive_reply(fd);
	return fd;
}

/* As many as the other end takes within a while. */
static void ask_without_listening(const struct offer *offer, struct frame frame)
{
	const struct shared_table *table;
	int fd = open_queue_pair(offer, &table);
	struct timeval patience = {.tv_usec = 300000};

	CHECK(!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)));
	if (frame.op == WIRE_FILE_REQUEST)
		frame.arg = table->mr[frame.rkey >> 16].generation;
	for (int i = 0; i < ASKED; i++) {
		if (send(fd, &frame, sizeof(frame), MSG_NOSIGNAL) != sizeof(frame))
			break;
		frame.seq += frame.op != WIRE_FILE_REQUEST;
	}
}

static void pester(int control)
{
	struct offer offer;

	test_receive(control, &offer, sizeof(offer));
	ask_without_listening(&offer, (struct frame){.op = WIRE_FILE_REQUEST, .rkey = offer.rkey});
	test_signal(control);
	test_receive(control, &offer, sizeof(offer));
	ask_without_listening(&offer, (struct frame){.op = WIRE_READ, .remote_addr = offer.addr, .rkey = offer.rkey,
						     .total = BYTES});
	test_signal(control);
	test_receive(control, &offer, sizeof(offer));
	ask_without_listening(&offer, (struct frame){.op = WIRE_READ, .remote_addr = offer.addr, .rkey = offer.rkey});
	test_signal(control);
	test_receive(control, &offer, sizeof(offer));
	for (int i = 0; i < CONNECTIONS; i++)
		raw_link_connect(offer.address.qpn >> 8);
	test_signal(control);
	test_await(control);
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long kib = 0;

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	fclose(file);
	CHECK(kib > 0);
	return kib;
}

static void expect_service(struct pair *pair, struct region *sink, struct region *source)
{
	for (int i = 0; i < 20; i++) {
		uint64_t start = test_now_ms();

		CHECK_EQUAL(post_read(pair->a.qp, i, sink, BYTES, (uintptr_t)source->bytes, source->mr->rkey), 0);
		expect_completion(pair->a.cq, i, IBV_WC_SUCCESS);
		CHECK(test_now_ms() - start < 2000);
	}
}

int main(void)
{
	struct test_peer peer = test_start_peer(pester);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct region sink, source, file;
	struct address his = {.qpn = HIS_QPN};
	struct offer offer;
	struct pair pair;
	struct side side;
	int descriptors;
	long memory;

	setenv("SOFTVERBS_PATH", "wire", 1);
	open_pair(&pair, NULL, NULL);
	open_side(&side, 16, 16);
	sink = create_region(pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, BYTES, ALL_REMOTE);
	setenv("SOFTVERBS_PATH", "file", 1); /* now only for create_region() */
	file = create_region(side.pd, BYTES, ALL_REMOTE);
	his.gid = address_of(&side).gid;
	expect_service(&pair, &sink, &source);
	descriptors = open_descriptors();
	memory = resident_kib();
	for (int i = 0; i < 4; i++) {
		CHECK_EQUAL(softverbs_ibv_modify_qp(side.qp, &reset, IBV_QP_STATE), 0);
		connect_side(&side, &his, NULL);
		offer = offer_of(&side, &file);
		test_send(peer.fd, &offer, sizeof(offer));
		expect_service(&pair, &sink, &source);
		test_await(peer.fd);
		expect_service(&pair, &sink, &source);
		fprintf(stderr, "%d: %d descriptors, %ld KiB more\n", i, open_descriptors() - descriptors,
			resident_kib() - memory);
		CHECK(open_descriptors() - descriptors < (i == 3 ? ALLOWED_DESCRIPTORS : 20));
		CHECK(resident_kib() - memory < 16384);
	}
	test_signal(peer.fd);
	test_join_peer(&peer);
	destroy_region(&file);
	close_side(&side);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}
