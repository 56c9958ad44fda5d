/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of the same user (with FUZZ_SECRET: anybody) sends datagrams to a queue pair. Those that it takes are whole and in its
 * receives, behind a network header; the others leave no trace.
 *
 * First control byte: 2 no receives, 4 a receive without room for the network header, 8 signed where the MAC is zero (with the
 * secret), 16 from a socket of no process of the device; second: unused. Then datagrams, each behind its length in two bytes.
 */
#include "harness.h"

#include "core.h"
#include "datagram/ud_genuine.h"
#include "exports.h"
#include "link/ports.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { NO_RECEIVES = 2, SHORT_RECEIVE = 4, SIGNED = 8, BY_STRANGER = 16 };
enum { RECEIVES = 4, RECEIVE_BYTES = 512, QKEY = 0x1234, OUR_QP = 1 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz_device device;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static int stranger;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct ibv_qp_init_attr init = {.cap = {4, RECEIVES, 1, 1, 0}, .qp_type = IBV_QPT_UD};

	(void)argc;
	(void)argv;
	if (getenv("FUZZ_SECRET"))
		setenv("SOFTVERBS_SECRET", "a secret of the fuzzer", 1);
	setenv("SOFTVERBS_ADDRESS", "127.0.0.1", 1);
	fuzz_seeds_if_asked();
	fuzz_open_device(&device);
	cq = softverbs_ibv_create_cq(device.context, 64, NULL, NULL, 0);
	FUZZ_CHECK(cq);
	init.send_cq = init.recv_cq = cq;
	qp = softverbs_ibv_create_qp(device.pd, &init);
	FUZZ_CHECK(qp);
	stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	FUZZ_CHECK(stranger >= 0);
	fuzz_settle();
	return 0;
}

static void move(enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {.qp_state = state, .port_num = 1, .qkey = QKEY};

	FUZZ_CHECK(!softverbs_ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask));
}

static int post_receives(uint32_t length)
{
	int posted = 0;

	for (int i = 0; i < RECEIVES; i++) {
		struct ibv_sge sge = {FUZZ_REGION_IOVA + (uint64_t)i * RECEIVE_BYTES, length,
				      device.mr[FUZZ_SINK]->lkey};
		struct ibv_recv_wr *bad, wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};

		posted += !ibv_post_recv(qp, &wr, &bad);
	}
	return posted;
}

static void send_datagram(int fd, const uint8_t *bytes, size_t length, bool sign)
{
	static const uint8_t no_mac[UD_MAC_BYTES];
	uint8_t copy[65536];
	struct ud_header header;
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(qp->qp_num >> 8),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	memcpy(copy, bytes, length);
	if (length >= sizeof(header)) {
		memcpy(&header, bytes, sizeof(header));
		if (header.destination_qpn == OUR_QP)
			header.destination_qpn = qp->qp_num;
		if (sign && !memcmp(header.mac, no_mac, sizeof(no_mac)))
			ud_sign(&header);
		memcpy(copy, &header, sizeof(header));
	}
	sendto(fd, copy, length, 0, (struct sockaddr *)&to, sizeof(to));
	fuzz_settle();
}

static void expect_completions(int receives, uint32_t receive_length)
{
	struct ibv_wc wc[64];
	int count;

	while ((count = ibv_poll_cq(cq, 64, wc)) > 0)
		for (int i = 0; i < count; i++, receives--)
			FUZZ_CHECK(wc[i].status != IBV_WC_SUCCESS ||
				   (wc[i].byte_len >= UD_GRH_BYTES && wc[i].byte_len <= receive_length &&
				    (wc[i].wc_flags & IBV_WC_GRH) && wc[i].src_qp <= 0xffffff));
	FUZZ_CHECK(!receives);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t receive_length = RECEIVE_BYTES;
	int receives = 0, fd;
	uint8_t control;

	if (size < FUZZ_CONTROL_BYTES || size > FUZZ_MAX_INPUT)
		return 0;
	control = data[0];
	if (control & SHORT_RECEIVE)
		receive_length = UD_GRH_BYTES + 7;
	fuzz_begin();
	move(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	move(IBV_QPS_RTR, 0);
	move(IBV_QPS_RTS, IBV_QP_SQ_PSN);
	if (!(control & NO_RECEIVES))
		receives = post_receives(receive_length);
	fd = control & BY_STRANGER ? stranger : process_socket(qp->qp_num >> 8, PORT_UDP);
	data += FUZZ_CONTROL_BYTES;
	size -= FUZZ_CONTROL_BYTES;
	while (size >= 2) {
		size_t length = data[0] | data[1] << 8;

		data += 2;
		size -= 2;
		if (length > size)
			length = size;
		send_datagram(fd, data, length, control & SIGNED);
		data += length;
		size -= length;
	}
	fuzz_check_memory();
	move(IBV_QPS_ERR, 0);
	expect_completions(receives, receive_length);
	move(IBV_QPS_RESET, 0);
	fuzz_drain_events(device.context);
	fuzz_end();
	return 0;
}

static void add_datagram(struct fuzz_stream *stream, const struct ud_header *header, uint16_t payload)
{
	static const uint8_t bytes[600];
	uint16_t length = sizeof(*header) + payload;

	fuzz_add(stream, &length, sizeof(length));
	fuzz_add(stream, header, sizeof(*header));
	fuzz_add(stream, bytes, payload);
}

void fuzz_write_seeds(void)
{
	static const uint16_t payloads[] = {0, 1, 7, 8, 100, 472, 473, 600};
	struct ud_header header = {.magic = UD_MAGIC,
				   .version = UD_WIRE_VERSION,
				   .hop_limit = 1,
				   .destination_qpn = OUR_QP,
				   .source_qpn = 0x1101,
				   .qkey = QKEY,
				   .source.raw = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1},
				   .destination.raw = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	struct fuzz_stream stream;
	char name[32];

	for (uint8_t control = 0; control < 32; control++) {
		stream = fuzz_stream(control, 0);
		for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
			header.flags = i;
			header.destination_qpn = i == 6 ? 0xffffff : OUR_QP;
			add_datagram(&stream, &header, payloads[(i + control) % 8]);
		}
		snprintf(name, sizeof(name), "datagrams-%u", control);
		fuzz_seed(name, stream.bytes, stream.length);
	}
	header.destination_qpn = OUR_QP;
	header.source_qpn = 0x1000000; /* a completion has 24 bits of it */
	stream = fuzz_stream(SIGNED, 0);
	add_datagram(&stream, &header, 8);
	fuzz_seed("wide_source", stream.bytes, stream.length);
}
