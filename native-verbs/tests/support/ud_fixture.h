/* SPDX-License-Identifier: Apache-2.0 */
/* Datagram queue pairs: one with a buffer of its own on each side, and the steps that their tests share. */
#ifndef SHUFFLE_RDMA_UD_FIXTURE_H
#define SHUFFLE_RDMA_UD_FIXTURE_H

#include "softdev_fixture.h"

#include <netinet/in.h>

enum { QKEY = 0x11111111, GRH_BYTES = 40, UD_MTU = 4096, QUIET_MS = 300 };

/* One side: a queue pair in RTS, memory, and an address handle to all queue pairs of this host. */
struct ud_side {
	struct side side;
	struct region memory;
	struct ibv_ah *ah;
};

static inline void ud_modify(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t qkey, int more)
{
	struct ibv_qp_attr attr = {.qp_state = state, .port_num = 1, .qkey = qkey};

	CHECK_EQUAL(softverbs_ibv_modify_qp(qp, &attr, IBV_QP_STATE | more), 0);
}

static inline void ud_to_rts(struct ibv_qp *qp, uint32_t qkey)
{
	ud_modify(qp, IBV_QPS_INIT, qkey, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	ud_modify(qp, IBV_QPS_RTR, 0, 0);
	ud_modify(qp, IBV_QPS_RTS, 0, IBV_QP_SQ_PSN);
}

static inline struct ibv_ah_attr ah_attr_to(const union ibv_gid *gid, uint8_t sgid_index)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = *gid, .sgid_index = sgid_index, .hop_limit = 64, .traffic_class = 0x28}};
}

static inline struct ibv_ah *ah_to(struct ud_side *ud, const union ibv_gid *gid, uint8_t sgid_index)
{
	struct ibv_ah_attr attr = ah_attr_to(gid, sgid_index);
	struct ibv_ah *ah = softverbs_ibv_create_ah(ud->side.pd, &attr);

	CHECK(ah);
	return ah;
}

static inline union ibv_gid gid_at(struct ud_side *ud, int index)
{
	union ibv_gid gid;

	CHECK_EQUAL(softverbs_ibv_query_gid(ud->side.context, 1, index, &gid), 0);
	return gid;
}

static inline void open_ud_side(struct ud_side *ud, uint32_t max_wr)
{
	union ibv_gid gid;

	open_side_of(&ud->side, IBV_QPT_UD, 4096, max_wr);
	ud_to_rts(ud->side.qp, QKEY);
	ud->memory = create_region(ud->side.pd, 1 << 20, IBV_ACCESS_LOCAL_WRITE);
	gid = gid_at(ud, 1);
	ud->ah = ah_to(ud, &gid, 1);
}

static inline void close_ud_side(struct ud_side *ud)
{
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ud->ah), 0);
	destroy_region(&ud->memory);
	close_side(&ud->side);
}

static inline struct ibv_send_wr ud_wr(struct ibv_ah *ah, uint32_t qpn, uint64_t wr_id, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY},
	};
}

/* The first bytes of its memory, by an address handle. */
static inline int ud_post_by(struct ud_side *ud, struct ibv_ah *ah, uint32_t qpn, uint64_t wr_id, uint32_t length)
{
	struct ibv_sge sge = sge_of(&ud->memory, 0, length);
	struct ibv_send_wr *bad, wr = ud_wr(ah, qpn, wr_id, &sge);

	return ibv_post_send(ud->side.qp, &wr, &bad);
}

/* Within this host; the post must work. */
static inline void ud_post(struct ud_side *ud, uint32_t qpn, uint64_t wr_id, uint32_t length)
{
	CHECK_EQUAL(ud_post_by(ud, ud->ah, qpn, wr_id, length), 0);
}

/* Sends, which must work, and takes the completion. */
static inline void ud_send_by(struct ud_side *ud, struct ibv_ah *ah, uint32_t qpn, uint32_t length)
{
	CHECK_EQUAL(ud_post_by(ud, ah, qpn, 77, length), 0);
	expect_completion(ud->side.cq, 77, IBV_WC_SUCCESS);
}

static inline void ud_send(struct ud_side *ud, uint32_t qpn, uint32_t length)
{
	ud_send_by(ud, ud->ah, qpn, length);
}

/* Into the first bytes of its memory. */
static inline void ud_receive(struct ud_side *ud, uint64_t wr_id, uint32_t length)
{
	CHECK_EQUAL(post_receive(ud->side.qp, wr_id, sge_of(&ud->memory, 0, length)), 0);
}

/* The next completion is of a datagram of that length. */
static inline struct ibv_wc ud_expect(struct ud_side *ud, uint32_t length)
{
	struct ibv_wc wc = wait_completion(ud->side.cq);

	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.byte_len, GRH_BYTES + length);
	return wc;
}

/* Runs body() in a process of its own without a secret and with one; both must succeed. */
static inline void with_and_without_secret(void (*body)(void))
{
	if (test_device()) {
		alarm(TEST_SECONDS);
		body();
		return;
	}
	alarm(2 * TEST_SECONDS);
	for (int secret = 0; secret < 2; secret++) {
		pid_t pid = test_fork();

		if (!pid) {
			alarm(TEST_SECONDS);
			if (secret)
				setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
			body();
			exit(0);
		}
		end_on_path(secret ? "with a secret" : "without a secret", pid);
	}
}

/* Sends those bytes to that UDP port of this host. */
static inline void send_udp(int fd, uint16_t port, const void *bytes, size_t length)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	CHECK_EQUAL(sendto(fd, bytes, length, 0, (struct sockaddr *)&to, sizeof(to)), (ssize_t)length);
}

/* Nothing arrives in a time in which a datagram would have. */
static inline void expect_quiet(struct ibv_cq *cq)
{
	expect_silence(cq, QUIET_MS);
}

#endif
