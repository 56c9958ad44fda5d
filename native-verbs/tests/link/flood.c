/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers that ask and never take the answers, and peers that connect and say nothing: the process that they pester keeps its
 * memory and its descriptors, and serves the others in time.
 */
#include "descriptors.h"
#include "offer.h"
#include "raw_requester.h"

enum { BYTES = 65536, ASKED = 20000, CONNECTIONS = 600, ALLOWED_DESCRIPTORS = 300 };

/* As many as the other end takes within a while. */
static void ask_without_listening(const struct offer *offer, struct frame frame)
{
	const struct shared_table *table;
	int fd = raw_requester_enter(&offer->address, &table);
	struct timeval patience = {.tv_usec = 300000};
	struct wire_key keys[WIRE_KEYS];

	CHECK(!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)));
	for (int i = 0; i < WIRE_KEYS; i++) /* frame.status: what the answer is to be */
		keys[i] = (struct wire_key){
			.generation = frame.status ? 0 : table->mr[frame.rkey >> 16].generation, .rkey = frame.rkey};
	for (int i = 0; i < ASKED; i++) {
		if (!raw_write_frame(fd, &frame, keys))
			break;
		frame.seq += !frame.length;
	}
}

static void pester(int control)
{
	static const struct frame frames[] = {
		{.op = WIRE_FILE_REQUEST, .length = WIRE_KEYS * sizeof(struct wire_key)},
		{.op = WIRE_FILE_REQUEST, .length = WIRE_KEYS * sizeof(struct wire_key), .status = ESTALE},
		{.op = WIRE_READ, .total = BYTES},
		{.op = WIRE_READ},
	};
	struct offer offer;

	for (unsigned int i = 0; i < COUNT_OF(frames); i++) {
		struct frame frame = frames[i];

		test_receive(control, &offer, sizeof(offer));
		frame.rkey = offer.rkey;
		if (frame.op == WIRE_READ)
			frame.remote_addr = offer.addr;
		ask_without_listening(&offer, frame);
		test_signal(control);
	}
	test_receive(control, &offer, sizeof(offer));
	for (int i = 0; i < CONNECTIONS; i++)
		raw_link_connect(offer.address.qpn >> 8);
	test_rendezvous(control);
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

static void expect_service(struct pair *pair)
{
	for (int i = 0; i < 20; i++) {
		uint64_t start = test_now_ms();

		pair_run(pair, IBV_WR_RDMA_READ, i, BYTES, IBV_WC_SUCCESS);
		CHECK(test_now_ms() - start < 2000 * TEST_SLOWER);
	}
}

int main(void)
{
	struct test_peer peer = test_start_peer(pester);
	struct region *file;
	struct offer offer;
	struct pair pair;
	struct side side;
	int descriptors;
	long memory;

	setenv("SOFTVERBS_PATH", "wire", 1);
	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	open_side(&side, 16, 16);
	file = keep_region(&side, create_file_region(side.pd, BYTES, ALL_REMOTE));
	expect_service(&pair);
	descriptors = open_descriptors();
	memory = resident_kib();
	for (int i = 0; i < 5; i++) {
		connect_to_raw(&side);
		offer = offer_of(&side, file);
		test_send(peer.fd, &offer, sizeof(offer));
		expect_service(&pair);
		test_await(peer.fd);
		expect_service(&pair);
		fprintf(stderr, "%d: %d descriptors, %ld KiB more\n", i, open_descriptors() - descriptors,
			resident_kib() - memory);
		CHECK(open_descriptors() - descriptors < (i == 4 ? ALLOWED_DESCRIPTORS : 20 + WIRE_KEYS));
		CHECK(resident_kib() - memory < 16384);
	}
	test_finish_peer(&peer);
	close_side(&side);
	close_pair(&pair);
}
