/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READs, and WRITEs, over the wire, 16 of them outstanding and completions by events, against a plain stream socket of the same two
 * processes: TCP between two network namespaces, and the unix socket of one host. CPU seconds are those of both ends.
 */
#define _GNU_SOURCE
#include "hosts_fixture.h"
#include "scene.h"

#include <netinet/in.h>

enum { SINK_BYTES = 16 << 20, DEPTH = 16, RAW_PORT = 5000, MIB = 1 << 20 };

static struct scene scene;
static bool over_tcp;
static uint32_t size;
static enum ibv_wr_opcode opcode;
static int raw_fds[2] = {-1, -1}; /* of the client, of the server; the latter listens for TCP */

static void enter_namespace(void)
{
	if (unshare(CLONE_NEWNET))
		test_skip("no network namespace can be made: run it as root");
	hosts_run("ip link set lo up");
}

static struct sockaddr_in raw_address(void)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(RAW_PORT),
				    .sin_addr.s_addr = htonl(0x0a4d0002)};
}

/* In the peer, which is the server: its namespace, then its end of the veth, then the listening socket. */
static void prepare_server(int fd)
{
	struct sockaddr_in address = raw_address();

	enter_namespace();
	test_rendezvous(fd);
	hosts_run("ip address add 10.77.0.2/24 dev bench1");
	hosts_run("ip link set bench1 up");
	raw_fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(!bind(raw_fds[1], (struct sockaddr *)&address, sizeof(address)));
	CHECK(!listen(raw_fds[1], 1));
	test_signal(fd);
}

static void prepare(int fd, pid_t peer)
{
	if (!over_tcp)
		return;
	if (!peer) {
		prepare_server(fd);
		return;
	}
	enter_namespace();
	test_await(fd);
	hosts_run("ip link add bench0 type veth peer name bench1 netns %d", (int)peer);
	hosts_run("ip address add 10.77.0.1/24 dev bench0");
	hosts_run("ip link set bench0 up");
	test_rendezvous(fd);
}

/* The plain server: so many MiB as it is asked for, from the region. */
static void serve_raw(const uint8_t *bytes, size_t length)
{
	int fd = over_tcp ? accept(raw_fds[1], NULL, NULL) : raw_fds[1];
	uint64_t wanted;

	CHECK(fd >= 0);
	if (!over_tcp)
		close(raw_fds[0]);
	while (read(fd, &wanted, sizeof(wanted)) == sizeof(wanted))
		for (uint64_t sent = 0; sent < wanted;) {
			uint64_t at = sent % length, rest = wanted - sent;
			uint64_t chunk = rest < MIB ? rest : MIB;
			ssize_t written = write(fd, bytes + at, chunk < length - at ? chunk : length - at);

			CHECK(written > 0);
			sent += written;
		}
	close(fd);
}

static void connect_raw(void)
{
	struct sockaddr_in address = raw_address();

	if (!over_tcp) {
		close(raw_fds[1]);
		return;
	}
	raw_fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(!connect(raw_fds[0], (struct sockaddr *)&address, sizeof(address)));
}

static void raw(void *unused, uint64_t operations)
{
	uint64_t wanted = operations * size;

	(void)unused;
	CHECK_EQUAL(write(raw_fds[0], &wanted, sizeof(wanted)), sizeof(wanted));
	for (uint64_t got = 0; got < wanted;) {
		uint64_t at = got % SINK_BYTES, rest = wanted - got;
		uint64_t chunk = rest < MIB ? rest : MIB;
		ssize_t bytes = read(raw_fds[0], scene.sink.bytes + at,
				     chunk < SINK_BYTES - at ? chunk : SINK_BYTES - at);

		CHECK(bytes > 0);
		got += bytes;
	}
}

static void await_event(void)
{
	struct ibv_cq *cq;
	void *context;

	CHECK_EQUAL(softverbs_ibv_get_cq_event(scene.side.channel, &cq, &context), 0);
	softverbs_ibv_ack_cq_events(cq, 1);
	CHECK_EQUAL(ibv_req_notify_cq(cq, 0), 0);
}

static void device(void *unused, uint64_t operations)
{
	uint64_t posted = 0, done = 0;

	(void)unused;
	CHECK_EQUAL(ibv_req_notify_cq(scene.side.cq, 0), 0);
	while (done < operations) {
		struct ibv_wc wc[DEPTH];
		int polled;

		for (; posted < operations && posted - done < DEPTH; posted++)
			CHECK_EQUAL(post(scene.side.qp, opcode, posted,
					 sge_of(&scene.sink, posted * size % SINK_BYTES, size),
					 scene.source + posted * size % scene.source_bytes, scene.rkey[0]),
				    0);
		polled = ibv_poll_cq(scene.side.cq, DEPTH, wc);
		CHECK(polled >= 0);
		for (int i = 0; i < polled; i++)
			CHECK_EQUAL(wc[i].status, IBV_WC_SUCCESS);
		done += polled;
		if (!polled)
			await_event();
	}
}

static void run_case(enum ibv_wr_opcode of, uint32_t bytes, enum bench_aim aim, double limit)
{
	char name[64];
	struct bench_case one = {
		.name = name,
		.bytes = bytes,
		.step = DEPTH,
		.aim = aim,
		.limit = limit,
		.raw = raw,
		.device = device,
		.other = scene.peer.pid,
	};

	opcode = of;
	size = bytes;
	snprintf(name, sizeof(name), "%s, %s, %u KiB, %s", over_tcp ? "tcp" : "unix",
		 of == IBV_WR_RDMA_READ ? "READ" : "WRITE", bytes >> 10, aim == AIM_CPU ? "CPU" : "time");
	bench_run(&one, NULL);
}

static void body(void)
{
	setenv("SOFTVERBS_SECRET", "of this benchmark", 1);
	scene.prepare = prepare;
	scene.serve = serve_raw;
	if (!over_tcp)
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, raw_fds));
	scene_open(&scene, bench_is_smoke() ? 16 << 20 : 256 << 20, SINK_BYTES);
	connect_raw();
	run_case(IBV_WR_RDMA_READ, 1 << 20, over_tcp ? AIM_BANDWIDTH : AIM_NONE, 0.9);
	if (over_tcp)
		run_case(IBV_WR_RDMA_READ, 1 << 20, AIM_CPU, 1.2);
	run_case(IBV_WR_RDMA_READ, 64 << 10, AIM_NONE, 0);
	run_case(IBV_WR_RDMA_READ, 4 << 10, AIM_NONE, 0);
	run_case(IBV_WR_RDMA_WRITE, 1 << 20, AIM_NONE, 0);
	run_case(IBV_WR_RDMA_WRITE, 64 << 10, AIM_NONE, 0);
	run_case(IBV_WR_RDMA_WRITE, 4 << 10, AIM_NONE, 0);
	close(raw_fds[0]);
	scene_close(&scene);
}

int main(int argc, char **argv)
{
	bench_start(argc, argv, "the wire beside a plain stream");
	scene_on_path("wire", body);
	over_tcp = true;
	scene_on_path("wire", body);
	return 0;
}
