// SPDX-License-Identifier: Apache-2.0
/*
 * Lists of READs of another process's files, posted and polled by one thread: what the device alone costs. bin/bench
 * read runs it beside the plugin, which makes the same READs of the same files.
 *
 *	read_lists BYTES DEPTH CHAIN LISTS FILE...
 *
 * The files have one size, a multiple of BYTES, and consist of lines of 64 bytes that begin with a number. Each list
 * has DEPTH READs of BYTES, posted in chains of at most CHAIN of which the last is signalled, and all complete before
 * the next list. READ n of all is of file n % files, where the last READ of that file ended. Prints the sum of the
 * numbers in the first and in the last line of each READ of the last list, the wall time, and the CPU time of both
 * processes (ns).
 */
#define _GNU_SOURCE
#include "scene.h"

#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

enum { MAX_DEPTH = SCENE_DEPTH, LINE = 64, SMOKE_BYTES = 4096 };

static struct scene scene;
static uint64_t size, depth, chain, lists, file_bytes;
static uint64_t smoke_sum; /* 0: not known */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	CHECK(!clock_gettime(clock, &now));
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns(void)
{
	clockid_t peer;

	CHECK(!clock_getcpuclockid(scene.peer.pid, &peer));
	return now_ns(CLOCK_PROCESS_CPUTIME_ID) + now_ns(peer);
}

static void read_list(uint64_t list)
{
	static struct ibv_send_wr wr[MAX_DEPTH];
	static struct ibv_sge sge[MAX_DEPTH];
	unsigned int chains = 0;

	for (uint64_t i = 0; i < depth; i++) {
		uint64_t number = list * depth + i, file = number % scene.regions;
		bool last = i + 1 == depth || (i + 1) % chain == 0;

		sge[i] = sge_of(&scene.sink, i * size, (uint32_t)size);
		wr[i] = (struct ibv_send_wr){
			.next = last ? NULL : &wr[i + 1],
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = last ? IBV_SEND_SIGNALED : 0,
			.wr.rdma.remote_addr = scene.source + file * file_bytes + number / scene.regions * size % file_bytes,
			.wr.rdma.rkey = scene.rkey[file],
		};
	}
	for (uint64_t i = 0; i < depth; i += chain, chains++) {
		struct ibv_send_wr *bad;

		CHECK_EQUAL(ibv_post_send(scene.side.qp, &wr[i], &bad), 0);
	}
	scene_await(scene.side.cq, chains);
}

static uint64_t number_at(uint64_t offset)
{
	uint64_t number;

	memcpy(&number, scene.sink.bytes + offset, sizeof(number));
	return be64toh(number);
}

static uint64_t sum_of_list(void)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < depth; i++)
		sum += number_at(i * size) + number_at((i + 1) * size - LINE);
	return sum;
}

static void body(void)
{
	uint64_t wall, cpu;

	scene_open(&scene, scene.regions * file_bytes, depth * size);
	read_list(0);
	wall = now_ns(CLOCK_MONOTONIC);
	cpu = cpu_ns();
	for (uint64_t list = 0; list < lists; list++)
		read_list(list);
	wall = now_ns(CLOCK_MONOTONIC) - wall;
	cpu = cpu_ns() - cpu;
	CHECK(!smoke_sum || sum_of_list() == smoke_sum);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sum_of_list(), wall, cpu);
	scene_close(&scene);
}

/* Reads two files of its own. The last list has lines 2 to 5 of the second one, and 4 and 5 of the first one. */
static int smoke(void)
{
	char first[] = "/tmp/read_lists.XXXXXX", second[] = "/tmp/read_lists.XXXXXX", *files[] = {first, second};

	for (int i = 0; i < 2; i++) {
		int fd = mkstemp(files[i]);

		CHECK(fd >= 0);
		for (uint64_t line = 0; line < SMOKE_BYTES / LINE; line++) {
			uint64_t text[LINE / sizeof(uint64_t)] = {htobe64(100 * i + line)};

			CHECK_EQUAL(write(fd, text, LINE), LINE);
		}
		close(fd);
	}
	size = 2 * LINE;
	depth = 3;
	chain = 2;
	lists = 2;
	smoke_sum = 102 + 103 + 4 + 5 + 104 + 105;
	scene.regions = 2;
	scene.files = files;
	file_bytes = SMOKE_BYTES;
	scene_on_path("auto", body);
	unlink(first);
	unlink(second);
	return 0;
}

int main(int argc, char **argv)
{
	struct stat status;

	if (argc < 2 || !strncmp(argv[1], "--", 2))
		return smoke();
	if (argc < 6 || argc - 5 > SCENE_FILES) {
		fprintf(stderr, "usage: read_lists BYTES DEPTH CHAIN LISTS FILE...\n");
		return 2;
	}
	size = strtoul(argv[1], NULL, 10);
	depth = strtoul(argv[2], NULL, 10);
	chain = strtoul(argv[3], NULL, 10);
	lists = strtoul(argv[4], NULL, 10);
	scene.regions = argc - 5;
	scene.files = argv + 5;
	CHECK(!stat(argv[5], &status));
	file_bytes = status.st_size;
	CHECK(size >= LINE && depth >= 1 && depth <= MAX_DEPTH && chain >= 1 && lists >= 1 && file_bytes % size == 0);
	scene_on_path("auto", body);
	return 0;
}
