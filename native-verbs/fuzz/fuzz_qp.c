/* SPDX-License-Identifier: Apache-2.0 */
/*
 * (With FUZZ_SECRET the peer is on another host: its links are TCP. With FUZZ_PATHS it also shows its table of regions, which is ours, and passes descriptors.)
 * The peer of a connected queue pair sends whatever it likes, to the responder or as answers to the requester. The
 * queue pair may break, but nothing outside its regions changes, every work request completes, and nothing leaks.
 *
 * First control byte: 1 requester, 2 in pieces, 4 the peer hangs up first, 8 no receives, 16 SQD meanwhile,
 * 32 no access flags, or the answer to the requester's opening is in the input, 64 an unreliable connection, 128 a window is bound; second: the opcodes that the
 * requester posts; of the responder: 1 the open region goes in the middle of the input.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "core.h"
#include "exports.h"
#include "link/link_internal.h"
#include "memory/peer_table.h"
#include "queue/qp.h"
#include "softverbs.h"
#include "queue/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUESTER = 1, IN_PIECES = 2, HANG_UP = 4, NO_RECEIVES = 8, DRAIN = 16, NO_ACCESS = 32, UNRELIABLE = 64, WINDOW = 128 };
enum { DEPTH = 8, RECEIVES = 4, POSTS = 4, PEER_INDEX = 5, RECEIVE_BYTES = 64 };

static struct fuzz_device device;
static struct ibv_cq *cq;
static struct ibv_qp *qp, *reliable, *unreliable;
static union ibv_gid gid;
static int listener;
static bool with_paths, with_tcp;
static int file_fd;
static struct ibv_mr *file_mr;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A region with its file, and the sign of life without which nobody reads it. */
static void register_file(void)
{
	void *bytes;

	file_fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(file_fd >= 0 && !ftruncate(file_fd, FUZZ_REGION_BYTES));
	bytes = mmap(NULL, FUZZ_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file_fd, 0);
	file_mr = softverbs_reg_file_mr(device.pd, bytes, FUZZ_REGION_BYTES, file_fd, 0, IBV_ACCESS_REMOTE_READ);
	FUZZ_CHECK(file_mr);
	device.keys[FUZZ_FILE] = file_mr->rkey;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct ibv_qp_init_attr init = {.cap = {DEPTH, DEPTH, 4, 4, 64}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};

	(void)argc;
	(void)argv;
	with_paths = getenv("FUZZ_PATHS");
	with_tcp = getenv("FUZZ_SECRET");
	if (with_tcp)
		setenv("SOFTVERBS_SECRET", "a secret of the fuzzer", 1);
	setenv("SOFTVERBS_PATH", with_paths ? "file" : with_tcp ? "tcp" : "wire", 1);
	fuzz_seeds_if_asked();
	fuzz_open_device(&device);
	if (with_paths)
		register_file();
	cq = softverbs_ibv_create_cq(device.context, 64, NULL, NULL, 0);
	FUZZ_CHECK(cq);
	init.send_cq = init.recv_cq = cq;
	reliable = softverbs_ibv_create_qp(device.pd, &init);
	init.qp_type = IBV_QPT_UC;
	unreliable = softverbs_ibv_create_qp(device.pd, &init);
	FUZZ_CHECK(reliable && unreliable);
	FUZZ_CHECK(!softverbs_ibv_query_gid(device.context, 1, 0, &gid));
	fuzz_network.own = fuzz_network.peer = gid;
	fuzz_network.right_mac = with_tcp;
	listener = fuzz_listen();
	fuzz_settle();
	return 0;
}

static void connect_qp(unsigned int access)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access};

	FUZZ_CHECK(!softverbs_ibv_modify_qp(qp, &attr,
					    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = (uint32_t)fuzz_peer_port() << 8 | PEER_INDEX,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}},
	};
	FUZZ_CHECK(!softverbs_ibv_modify_qp(
		qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			(qp == reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 1, .rnr_retry = 1, .max_rd_atomic = 4};
	FUZZ_CHECK(!softverbs_ibv_modify_qp(qp, &attr,
					    IBV_QP_STATE | IBV_QP_SQ_PSN |
						    (qp == reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
									      IBV_QP_RNR_RETRY |
									      IBV_QP_MAX_QP_RD_ATOMIC
								    : 0)));
}

static int post_receives(void)
{
	int posted = 0;

	for (int i = 0; i < RECEIVES; i++) {
		struct ibv_sge sge = {FUZZ_REGION_IOVA + (uint64_t)i * RECEIVE_BYTES, RECEIVE_BYTES,
				      device.mr[FUZZ_SINK]->lkey};
		struct ibv_recv_wr *bad, wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};

		posted += !ibv_post_recv(qp, &wr, &bad);
	}
	return posted;
}

static int post_sends(uint8_t choice)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_RDMA_READ, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_FETCH_AND_ADD};
	int posted = 0;

	for (int i = 0; i < POSTS; i++) {
		enum ibv_wr_opcode opcode = opcodes[(choice >> 2 * i & 3) + (choice & 1) * 4];
		bool atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
		struct ibv_sge sge = {FUZZ_REGION_IOVA + 1024 + 256ull * i, atomic ? 8 : 200,
				      device.mr[FUZZ_SINK]->lkey};
		struct ibv_send_wr *bad, wr = {
						 .wr_id = 100 + i,
						 .sg_list = &sge,
						 .num_sge = 1,
						 .opcode = opcode,
						 .wr.rdma = {8 * (i + 1), 77},
					 };

		if (with_paths && opcode == IBV_WR_RDMA_READ) { /* every other one from the file */
			wr.wr.rdma.remote_addr = i % 2 ? (uintptr_t)file_mr->addr : 3 * FUZZ_REGION_IOVA;
			wr.wr.rdma.rkey = i % 2 ? file_mr->rkey : device.keys[FUZZ_READ_ONLY];
		}
		if (atomic) {
			wr.wr.atomic.remote_addr = 8 * (i + 1);
			wr.wr.atomic.rkey = 77;
		}
		posted += !ibv_post_send(qp, &wr, &bad);
	}
	return posted;
}

/* The second half of the open region, under a key that the peer may take back. */
static struct ibv_mw *bind_window(int *posted)
{
	struct ibv_mw *mw = ibv_alloc_mw(device.pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *bad, wr = {
					 .wr_id = 200,
					 .opcode = IBV_WR_BIND_MW,
					 .bind_mw = {.mw = mw,
						     .rkey = mw->rkey + 1,
						     .bind_info = {.mr = device.mr[FUZZ_OPEN],
								   .addr = 2 * FUZZ_REGION_IOVA + FUZZ_REGION_BYTES / 2,
								   .length = FUZZ_REGION_BYTES / 2,
								   .mw_access_flags = IBV_ACCESS_REMOTE_READ |
										      IBV_ACCESS_REMOTE_WRITE}},
				 };

	device.keys[FUZZ_WINDOW] = wr.bind_mw.rkey;
	*posted += !ibv_post_send(qp, &wr, &bad);
	fuzz_settle();
	return mw;
}

/* The link that the input arrives on. */
static int open_link(bool requester, bool answers)
{
	struct qp_open open = {.source_qpn = (uint32_t)fuzz_peer_port() << 8 | PEER_INDEX,
			       .destination_qpn = qp->qp_num,
			       .source_gid = gid,
			       .destination_gid = gid,
			       .qp_type = qp->qp_type};
	struct {
		struct frame frame;
		struct qp_open open;
	} message = {{.op = WIRE_QP_OPEN, .length = sizeof(open)}, open};
	struct {
		struct frame frame;
		struct qp_open_reply reply;
	} answer = {{.op = WIRE_QP_OPEN_REPLY, .length = sizeof(struct qp_open_reply)},
		    {.qp_slot = to_qp(qp)->slot,
		     .qp_generation = atomic_load(&own_table()->qp[to_qp(qp)->slot].generation),
		     .cookie_address = (uintptr_t)process_nonce()}};
	const int table[] = {own_table_fd()};
	int fds[2];

	if (requester) {
		fuzz_settle();
		fds[1] = with_tcp ? fuzz_network.connected_fd : fuzz_accept(listener);
		fuzz_network.connected_fd = -1;
		FUZZ_CHECK(fds[1] >= 0);
		fuzz_send_server_handshake(fds[1], with_paths ? process_nonce() : fuzz_peer_nonce);
		fuzz_settle_with(fds[1]);
		if (with_paths && answers)
			fuzz_send_descriptors(fds[1], (const uint8_t *)&answer, sizeof(answer), table, 1);
		else if (answers)
			FUZZ_CHECK(send(fds[1], &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer));
	} else {
		FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
		if (with_tcp)
			link_accept_tcp(fds[0], qp->qp_num >> 8);
		else
			link_accept_unix(fds[0], 0);
		fuzz_send_client_handshake(fds[1], LINK_KIND_QP);
		FUZZ_CHECK(send(fds[1], &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message));
	}
	fuzz_settle_with(fds[1]);
	/*
	 * Both halves must be there, or the input would be thrown away unread. But an unreliable one that was given an
	 * opcode which its type lacks is in SQE by then.
	 */
	FUZZ_CHECK(!requester ? to_qp(qp)->responder.link != NULL
			      : to_qp(qp)->requester.state == (answers ? REQUESTER_OPEN : REQUESTER_CONNECTING) ||
					atomic_load(&to_qp(qp)->state) == IBV_QPS_SQE);
	return fds[1];
}

static void expect_completions(int sends, int receives)
{
	struct ibv_wc wc[64];
	int count;

	while ((count = ibv_poll_cq(cq, 64, wc)) > 0)
		for (int i = 0; i < count; i++) {
			sends -= wc[i].wr_id >= 100;
			receives -= wc[i].wr_id < 100;
		}
	FUZZ_CHECK(!sends && !receives);
}

/* Keys of a question about keys or of its answer, made real; generation 0 stands for that of the region. */
static void resolve_wire_keys(struct frame *frame, uint8_t *payload, size_t bytes)
{
	struct wire_key key;

	if (frame->op != WIRE_FILE_REQUEST && frame->op != WIRE_FILE_REPLY)
		return;
	for (; bytes >= sizeof(key); payload += sizeof(key), bytes -= sizeof(key)) {
		memcpy(&key, payload, sizeof(key));
		key.rkey = fuzz_resolve_key(key.rkey, &device);
		if (!key.generation)
			key.generation = atomic_load(&own_table()->mr[key.rkey >> 16].generation);
		memcpy(payload, &key, sizeof(key));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t stream[FUZZ_MAX_INPUT];
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET}, error = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_attr drain = {.qp_state = IBV_QPS_SQD};
	int sends = 0, receives = 0, fd;
	struct ibv_mw *mw = NULL;
	size_t sent = 0;
	bool takes_away;
	uint8_t control;

	if (size < FUZZ_CONTROL_BYTES || size > sizeof(stream))
		return 0;
	control = data[0];
	qp = control & UNRELIABLE ? unreliable : reliable;
	fuzz_begin();
	connect_qp(control & NO_ACCESS ? 0
				       : IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	if (!(control & NO_RECEIVES))
		receives = post_receives();
	if (control & REQUESTER)
		sends = post_sends(data[1]);
	fd = open_link(control & REQUESTER, !(control & NO_ACCESS));
	if (control & WINDOW)
		mw = bind_window(&sends);
	if (control & DRAIN)
		softverbs_ibv_modify_qp(qp, &drain, IBV_QP_STATE);
	size -= FUZZ_CONTROL_BYTES;
	memcpy(stream, data + FUZZ_CONTROL_BYTES, size);
	fuzz_resolve_frames(stream, size, &device, resolve_wire_keys);
	if (with_paths && (control & REQUESTER) && size >= sizeof(struct frame))
		sent = fuzz_send_descriptors(fd, stream, sizeof(struct frame), &file_fd, 1);
	takes_away = !(control & REQUESTER) && !mw && (data[1] & 1);
	if (takes_away) {
		fuzz_send(fd, stream, size / 2, control & IN_PIECES);
		sent = size / 2;
		fuzz_deregister(&device, FUZZ_OPEN);
	}
	fuzz_send(fd, stream + sent, size - sent, control & IN_PIECES);
	if (takes_away)
		fuzz_register(&device, FUZZ_OPEN);
	fuzz_pass_time(1000000000ull);
	fuzz_settle_with(fd);
	if (control & HANG_UP) {
		close(fd);
		fuzz_settle();
	}
	FUZZ_CHECK(!softverbs_ibv_modify_qp(qp, &error, IBV_QP_STATE));
	fuzz_check_memory();
	expect_completions(sends, receives);
	FUZZ_CHECK(!softverbs_ibv_modify_qp(qp, &reset, IBV_QP_STATE));
	if (mw)
		FUZZ_CHECK(!ibv_dealloc_mw(mw));
	if (!(control & HANG_UP))
		close(fd);
	for (fuzz_settle(); (fd = fuzz_accept(listener)) >= 0;)
		close(fd);
	if (with_tcp && fuzz_network.connected_fd >= 0)
		close(fuzz_network.connected_fd);
	fuzz_network.connected_fd = -1;
	fuzz_drain_events(device.context);
	fuzz_end();
	return 0;
}

static struct frame request(enum wire_op op, uint32_t seq, int region, uint32_t length)
{
	return (struct frame){.op = op,
			      .seq = seq,
			      .rkey = FUZZ_KEY + region,
			      .imm = FUZZ_KEY + FUZZ_WINDOW,
			      .remote_addr = region == FUZZ_WINDOW ? 2 * FUZZ_REGION_IOVA + FUZZ_REGION_BYTES - 8
								   : (uint64_t)FUZZ_REGION_IOVA * (region + 1),
			      .length = op == WIRE_READ ? 0 : length,
			      .total = op == WIRE_READ ? length : 0};
}

void fuzz_write_seeds(void)
{
	const struct wire_key keys[] = {{.rkey = FUZZ_KEY + FUZZ_FILE, .has_file = 1},
					{.rkey = FUZZ_KEY + FUZZ_READ_ONLY},
					{.rkey = FUZZ_KEY + FUZZ_OPEN, .generation = 1, .status = ESTALE},
					{.rkey = FUZZ_KEY + FUZZ_WINDOW, .status = EACCES}};
	struct fuzz_stream all = fuzz_stream(WINDOW, 0), answers = fuzz_stream(REQUESTER, 0), one;
	char name[64];
	static const struct {
		const char *name;
		enum wire_op op;
		int region;
		uint32_t length;
		uint8_t flags;
	} requests[] = {
		{"send", WIRE_SEND, FUZZ_SINK, 40, 0},
		{"send_imm", WIRE_SEND, FUZZ_SINK, 64, WIRE_FLAG_IMM | WIRE_FLAG_SOLICITED},
		{"write", WIRE_WRITE, FUZZ_OPEN, 100, 0},
		{"write_imm", WIRE_WRITE, FUZZ_OPEN, 8, WIRE_FLAG_IMM},
		{"read", WIRE_READ, FUZZ_READ_ONLY, 2000, 0},
		{"compare_swap", WIRE_COMPARE_SWAP, FUZZ_OPEN, sizeof(struct atomic_operands), 0},
		{"fetch_add", WIRE_FETCH_ADD, FUZZ_OPEN, sizeof(struct atomic_operands), 0},
		{"file_request", WIRE_FILE_REQUEST, FUZZ_OPEN, sizeof(keys), 0},
		{"write_read_only", WIRE_WRITE, FUZZ_READ_ONLY, 8, 0},
		{"read_sink", WIRE_READ, FUZZ_SINK, 8, 0},
		{"write_window", WIRE_WRITE, FUZZ_WINDOW, 8, 0},
		{"send_invalidate", WIRE_SEND, FUZZ_WINDOW, 8, WIRE_FLAG_INVALIDATE},
		{"send_too_long", WIRE_SEND, FUZZ_SINK, 65, 0},
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct frame frame = request(requests[i].op, 0, requests[i].region, requests[i].length);

		const void *payload = frame.op == WIRE_FILE_REQUEST ? keys : NULL;

		frame.flags = requests[i].flags;
		one = fuzz_stream((i % 2 ? IN_PIECES : 0) | WINDOW, 0);
		fuzz_add_frame(&one, frame, payload);
		fuzz_seed(requests[i].name, one.bytes, one.length);
		one.bytes[0] &= ~WINDOW;
		one.bytes[1] = 1;
		snprintf(name, sizeof(name), "taken_away_%s", requests[i].name);
		fuzz_seed(name, one.bytes, one.length);
		one.bytes[0] |= UNRELIABLE;
		snprintf(name, sizeof(name), "unreliable_%s", requests[i].name);
		fuzz_seed(name, one.bytes, one.length);
		one.bytes[0] |= NO_RECEIVES | NO_ACCESS;
		fuzz_seed(requests[i].name[0] == 's' ? "without_receive" : "without_access", one.bytes, one.length);
		frame.seq = i;
		if (i < 8)
			fuzz_add_frame(&all, frame, payload);
	}
	fuzz_seed("all", all.bytes, all.length);
	/* READ, READ, READ, READ: data and an ACK for each; then SEND and an RNR NAK; a NAK; nothing at all. */
	for (uint32_t seq = 0; seq < POSTS; seq++) {
		fuzz_add_frame(&answers, (struct frame){.op = WIRE_READ_DATA, .seq = seq, .length = 200, .total = 200}, NULL);
		fuzz_add_frame(&answers, (struct frame){.op = WIRE_ACK, .seq = seq}, NULL);
	}
	fuzz_seed("read_answers", answers.bytes, answers.length);
	answers = fuzz_stream(REQUESTER | DRAIN, 0x55 & ~1);
	fuzz_add_frame(&answers, (struct frame){.op = WIRE_READ_DATA, .length = 100, .total = 200}, NULL);
	fuzz_add_frame(&answers, (struct frame){.op = WIRE_READ_DATA, .length = 100, .total = 200, .arg = 100}, NULL);
	fuzz_add_frame(&answers, (struct frame){.op = WIRE_ACK, .seq = 1}, NULL);
	fuzz_seed("drained", answers.bytes, answers.length);
	for (uint8_t choice = 0; choice < 4; choice++) {
		answers = fuzz_stream(REQUESTER, choice * 0x55);
		fuzz_add_frame(&answers, (struct frame){.op = WIRE_RNR_NAK, .status = 5}, NULL);
		fuzz_seed(choice % 2 ? "rnr" : "rnr_again", answers.bytes, answers.length);
		answers = fuzz_stream(REQUESTER | HANG_UP, choice * 0x55);
		fuzz_add_frame(&answers, (struct frame){.op = WIRE_READ_DATA, .length = 8, .total = 8}, NULL);
		fuzz_add_frame(&answers, (struct frame){.op = WIRE_ACK, .seq = 3}, NULL);
		fuzz_seed(choice % 2 ? "atomic" : "acks", answers.bytes, answers.length);
		answers = fuzz_stream(REQUESTER | IN_PIECES, choice * 0x55);
		fuzz_add_frame(&answers, (struct frame){.op = WIRE_NAK, .status = IBV_WC_REM_ACCESS_ERR}, NULL);
		fuzz_seed(choice % 2 ? "nak" : "nak_again", answers.bytes, answers.length);
	}
	answers = fuzz_stream(REQUESTER | NO_ACCESS, 0);
	fuzz_add_frame(&answers, (struct frame){.op = WIRE_QP_OPEN_REPLY, .length = sizeof(struct qp_open_reply)}, NULL);
	fuzz_seed("opened", answers.bytes, answers.length);
	fuzz_add_frame(&answers, (struct frame){.op = WIRE_NAK, .status = IBV_WC_REM_OP_ERR}, NULL);
	fuzz_seed("opened_nak", answers.bytes, answers.length);
	answers = fuzz_stream(REQUESTER | NO_ACCESS | IN_PIECES, 0x55);
	fuzz_add_frame(&answers, (struct frame){.op = WIRE_QP_OPEN_REPLY, .status = EAGAIN}, NULL);
	fuzz_seed("not_ready", answers.bytes, answers.length);
	answers = fuzz_stream(REQUESTER | IN_PIECES, 0x55);
	for (int i = 0; i < 3; i++)
		fuzz_add_frame(&answers, (struct frame){.op = WIRE_RNR_NAK, .status = 1}, NULL);
	fuzz_seed("rnr_until_the_end", answers.bytes, answers.length);
	answers = fuzz_stream(REQUESTER, 0);
	fuzz_add_frame(&answers, (struct frame){.op = WIRE_FILE_REPLY, .length = sizeof(keys)}, keys);
	fuzz_add_frame(&answers, (struct frame){.op = WIRE_FILE_REVOKE}, NULL);
	fuzz_seed("file_answers", answers.bytes, answers.length);
}
