/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that may use one key finds no other in what the process shows to it: neither one that lets it WRITE to another region
 * over the wire, nor that of the region it may use; nor does it learn where regions lie that nobody may READ. Asking whether a key is right is counted like using it.
 */
#include "memory/peer_table.h"
#include "offer.h"
#include "raw_responder.h"

enum { HIS_QPN = 0x432107, BYTES = 4096, GUESSES = 300 };

struct secret {
	struct offer offer;
	uint32_t hidden;
	uint64_t private_address;
};

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
	CHECK_EQUAL(frame.status, 0);
	CHECK_EQUAL(recv(fd, &reply, sizeof(reply), MSG_WAITALL), sizeof(reply));
	CHECK(CMSG_FIRSTHDR(&message));
	memcpy(&table_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(table_fd));
	table = mmap(NULL, sizeof(*table), PROT_READ, MAP_SHARED, table_fd, 0);
	CHECK(table != MAP_FAILED);
	return table;
}

static bool shows(const struct shared_table *table, uint32_t key)
{
	const uint32_t *words = (const uint32_t *)(const void *)table;

	for (size_t i = 0; i < sizeof(*table) / sizeof(*words); i++)
		if (words[i] == key)
			return true;
	return false;
}

/* The answer to a question that costs nothing but a count. */
static int ask(int fd, uint32_t key, uint64_t generation)
{
	struct frame frame = {.op = WIRE_FILE_REQUEST, .rkey = key, .arg = generation};

	if (!raw_write_frame(fd, &frame, NULL) || !raw_read_frame(fd, &frame, NULL, 0))
		return -1;
	CHECK_EQUAL(frame.op, WIRE_FILE_REPLY);
	CHECK_EQUAL(frame.rkey, key);
	return frame.status;
}

static void intrude(int control)
{
	const struct shared_table *table;
	struct secret secret;
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(struct qp_open)};
	struct qp_open open;
	uint64_t generation;
	int fd, refused = 0;

	test_receive(control, &secret, sizeof(secret));
	open = (struct qp_open){.source_qpn = HIS_QPN,
				.destination_qpn = secret.offer.address.qpn,
				.source_gid = secret.offer.address.gid,
				.destination_gid = secret.offer.address.gid,
				.qp_type = IBV_QPT_RC};
	fd = raw_link_connect(secret.offer.address.qpn >> 8);
	raw_link_shake_hands(fd, LINK_KIND_QP, raw_write_frame);
	CHECK(raw_write_frame(fd, &frame, &open));
	table = receive_reply(fd);
	CHECK(!shows(table, secret.hidden));
	CHECK(!shows(table, secret.offer.rkey));
	CHECK(shows(table, (uint32_t)secret.offer.addr) && !shows(table, (uint32_t)secret.private_address));
	generation = table->mr[secret.offer.rkey >> 16].generation;
	CHECK_EQUAL(ask(fd, secret.offer.rkey, generation), 0);
	CHECK_EQUAL(ask(fd, secret.offer.rkey, generation + 2), ESTALE);
	generation = table->mr[secret.hidden >> 16].generation;
	while (refused < GUESSES && ask(fd, secret.hidden ^ (1 + refused), generation) == EACCES)
		refused++;
	CHECK(refused > 0 && refused <= 256);
	test_signal(control);
}

int main(void)
{
	struct test_peer peer = test_start_peer(intrude);
	struct address his = {.qpn = HIS_QPN};
	struct region region, hidden, private;
	struct secret secret;
	struct side side;

	open_side(&side, 16, 16);
	region = create_region(side.pd, BYTES, ALL_REMOTE);
	hidden = create_region(side.pd, BYTES, ALL_REMOTE);
	private = create_region(side.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	his.gid = address_of(&side).gid;
	connect_side(&side, &his, NULL);
	secret = (struct secret){offer_of(&side, &region), hidden.mr->rkey, (uintptr_t)private.bytes};
	test_send(peer.fd, &secret, sizeof(secret));
	test_await(peer.fd);
	test_join_peer(&peer);
	destroy_region(&private);
	destroy_region(&hidden);
	destroy_region(&region);
	close_side(&side);
}
