/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams between two processes: payload, immediate data and inline data arrive behind a network header that names
 * both addresses, for every kind of GID; the receiver answers by an address handle made from what it received.
 */
#include "ud_fixture.h"

#include <arpa/inet.h>

enum { LENGTH = 1000, IMM = 0x12345678, SLOT = 8192 };

static void check_header(const uint8_t *grh, const union ibv_gid *source, const union ibv_gid *destination, bool v1,
			 uint32_t payload)
{
	uint32_t first, sum = 0;
	bool v4 = source->raw[10] == 0xff && source->raw[11] == 0xff;
	uint32_t transport = 12 + 8 + 4 + 4 + payload;

	if (v4 && !v1) {
		const uint8_t *ip = grh + 20;

		CHECK_EQUAL(ip[0], 0x45);
		CHECK_EQUAL(ip[1], 0x28);
		CHECK_EQUAL(ip[2] << 8 | ip[3], 20 + 8 + transport);
		CHECK_EQUAL(ip[8], 64);
		CHECK_EQUAL(ip[9], 17);
		CHECK(!memcmp(ip + 12, source->raw + 12, 4));
		CHECK(!memcmp(ip + 16, destination->raw + 12, 4));
		for (int i = 0; i < 20; i += 2)
			sum += (uint32_t)ip[i] << 8 | ip[i + 1];
		CHECK_EQUAL(((sum & 0xffff) + (sum >> 16)) & 0xffff, 0xffff);
		return;
	}
	memcpy(&first, grh, 4);
	CHECK_EQUAL(ntohl(first) >> 28, 6);
	CHECK_EQUAL(ntohl(first) >> 20 & 0xff, 0x28);
	CHECK_EQUAL(grh[4] << 8 | grh[5], transport + (v1 ? 0 : 8));
	CHECK_EQUAL(grh[6], v1 ? 0x1b : 17);
	CHECK_EQUAL(grh[7], 64);
	CHECK(!memcmp(grh + 8, source->raw, 16));
	CHECK(!memcmp(grh + 24, destination->raw, 16));
}

/* Which of the two wire formats goes with that entry of the GID table. */
static bool is_roce_v1(struct ud_side *ud, int index)
{
	struct ibv_gid_entry entry;

	CHECK_EQUAL(softverbs__ibv_query_gid_ex(ud->side.context, 1, index, &entry, 0, sizeof(entry)), 0);
	return entry.gid_type == IBV_GID_TYPE_ROCE_V1;
}

struct entry {
	union ibv_gid gid;
	uint32_t qpn;
	int index;
};

/* Receives one datagram a GID, sends its payload back. */
static void answer(int fd)
{
	struct ud_side ud;
	struct entry peer, own;

	open_ud_side(&ud, 16);
	own.qpn = ud.side.qp->qp_num;
	test_send(fd, &own, sizeof(own));
	for (;;) {
		struct ibv_wc wc;
		struct ibv_ah *ah;

		test_receive(fd, &peer, sizeof(peer));
		if (peer.index < 0)
			break;
		memset(ud.memory.bytes, 0xee, SLOT);
		ud_receive(&ud, 5, SLOT);
		test_signal(fd);
		wc = wait_completion(ud.side.cq);
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		CHECK_EQUAL(wc.opcode, IBV_WC_RECV);
		CHECK_EQUAL(wc.wr_id, 5);
		CHECK_EQUAL(wc.qp_num, own.qpn);
		CHECK_EQUAL(wc.src_qp, peer.qpn);
		CHECK_EQUAL(wc.byte_len, GRH_BYTES + LENGTH);
		CHECK_EQUAL(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
		CHECK_EQUAL(ntohl(wc.imm_data), IMM);
		CHECK_EQUAL(wc.slid, 0);
		if (!test_device()) /* which tells here what kind of header it is */
			CHECK_EQUAL(wc.sl, peer.index % 2 == 0 ? 0 : peer.gid.raw[10] == 0xff && peer.gid.raw[0] == 0 ? 10 : 9);
		check_header(ud.memory.bytes, &peer.gid, &peer.gid, is_roce_v1(&ud, peer.index), LENGTH);
		CHECK_EQUAL(ud.memory.bytes[GRH_BYTES + LENGTH], 0xee);
		ah = softverbs_ibv_create_ah_from_wc(ud.side.pd, &wc, (struct ibv_grh *)ud.memory.bytes, 1);
		CHECK(ah);
		memmove(ud.memory.bytes, ud.memory.bytes + GRH_BYTES, LENGTH);
		ud_send_by(&ud, ah, wc.src_qp, LENGTH);
		CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	}
	close_ud_side(&ud);
	check_no_leaks();
}

/* To and from the address of that index of the GID table. */
static void exchange(struct ud_side *ud, int fd, const struct entry *peer, int index)
{
	struct entry own = {.gid = gid_at(ud, index), .qpn = ud->side.qp->qp_num, .index = index};
	struct ibv_ah *ah = ah_to(ud, &own.gid, index);
	struct ibv_sge pieces[] = {sge_of(&ud->memory, 0, 300), sge_of(&ud->memory, 300, LENGTH - 300)};
	struct ibv_send_wr *bad, wr = ud_wr(ah, peer->qpn, 9, pieces);
	struct ibv_wc wc;

	test_send(fd, &own, sizeof(own));
	test_await(fd);
	fill_pattern(ud->memory.bytes, LENGTH, index + 1);
	CHECK_EQUAL(post_receive(ud->side.qp, 6, sge_of(&ud->memory, SLOT, GRH_BYTES + LENGTH)), 0);
	wr.num_sge = 2;
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(IMM);
	CHECK_EQUAL(ibv_post_send(ud->side.qp, &wr, &bad), 0);
	for (int i = 0; i < 2; i++) { /* the answer may be faster than the completion of the send */
		wc = wait_completion(ud->side.cq);
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		CHECK_EQUAL(wc.wr_id, wc.opcode == IBV_WC_SEND ? 9 : 6);
		if (wc.opcode == IBV_WC_RECV)
			CHECK_EQUAL(wc.src_qp, peer->qpn);
	}
	CHECK(!memcmp(ud->memory.bytes + SLOT + GRH_BYTES, ud->memory.bytes, LENGTH));
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
}

/* Inline data is taken when the request is posted; a datagram to oneself arrives too, and an empty one. */
static void send_to_oneself(struct ud_side *ud)
{
	struct ibv_sge sge = sge_of(&ud->memory, 0, 16);
	struct ibv_send_wr *bad, wr = ud_wr(ud->ah, ud->side.qp->qp_num, 1, &sge);

	CHECK_EQUAL(post_receive(ud->side.qp, 2, sge_of(&ud->memory, SLOT, SLOT)), 0);
	CHECK_EQUAL(post_receive(ud->side.qp, 3, sge_of(&ud->memory, SLOT, SLOT)), 0);
	memset(ud->memory.bytes, 'a', 16);
	wr.send_flags = IBV_SEND_INLINE;
	CHECK_EQUAL(ibv_post_send(ud->side.qp, &wr, &bad), 0);
	memset(ud->memory.bytes, 'b', 16);
	ud_expect(ud, 16);
	CHECK_EQUAL(ud->memory.bytes[SLOT + GRH_BYTES + 15], 'a');
	wr.num_sge = 0;
	wr.send_flags = 0;
	CHECK_EQUAL(ibv_post_send(ud->side.qp, &wr, &bad), 0);
	ud_expect(ud, 0);
}

static bool has_gid(struct ud_side *ud, int index)
{
	static const union ibv_gid none;
	union ibv_gid gid;

	return !softverbs_ibv_query_gid(ud->side.context, 1, index, &gid) && memcmp(&gid, &none, sizeof(gid));
}

static void run(void)
{
	struct test_peer child = test_start_peer(answer);
	struct entry peer, end = {.index = -1};
	struct ibv_port_attr port;
	struct ud_side ud;
	int used = 0;

	test_receive(child.fd, &peer, sizeof(peer));
	open_ud_side(&ud, 16);
	CHECK_EQUAL(softverbs_ibv_query_port(ud.side.context, 1, (struct _compat_ibv_port_attr *)&port), 0);
	for (; used < port.gid_tbl_len && has_gid(&ud, used); used++)
		exchange(&ud, child.fd, &peer, used);
	if (test_device()) /* whose table may have empty entries */
		CHECK(used);
	else
		CHECK_EQUAL(used, port.gid_tbl_len);
	send_to_oneself(&ud);
	test_send(child.fd, &end, sizeof(end));
	test_join_peer(&child);
	close_ud_side(&ud);
	check_no_leaks();
}

MAIN(with_and_without_secret, run)
