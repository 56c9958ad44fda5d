/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor of a file region reaches the peer read-only, serves its READs, and is closed there when the region
 * is deregistered or the connection ends: a deleted file gives its space back.
 */
#include "offer.h"

#include <dirent.h>
#include <fcntl.h>

enum { BYTES = 65536 };

static char file_name[] = "/tmp/softdev-revoke-XXXXXX";

/* How many descriptors of this process are the (deleted) test file; checks that each is read-only. */
static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0;

	CHECK(directory);
	while ((entry = readdir(directory))) {
		char path[300], target[300] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (readlink(path, target, sizeof(target) - 1) < 0 || !strstr(target, file_name))
			continue;
		CHECK_EQUAL(fcntl(atoi(entry->d_name), F_GETFL) & O_ACCMODE, O_RDONLY);
		count++;
	}
	closedir(directory);
	return count;
}

static struct region create_named_region(struct ibv_pd *pd)
{
	struct region region = {.length = BYTES};

	region.fd = open(file_name, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(region.fd >= 0);
	unlink(file_name);
	CHECK(!ftruncate(region.fd, BYTES));
	region.bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0);
	region.mr = softverbs_reg_file_mr(pd, region.bytes, BYTES, region.fd, 0, IBV_ACCESS_REMOTE_READ);
	CHECK(region.mr);
	return region;
}

static void serve(int fd)
{
	struct side side;
	struct address remote;

	open_side(&side, 16, 16);
	test_receive(fd, &remote, sizeof(remote));
	connect_side(&side, &remote, NULL);
	for (int round = 0; round < 2; round++) {
		struct region region = create_named_region(side.pd);
		struct offer offer = offer_of(&side, &region);

		fill_pattern(region.bytes, BYTES, round);
		test_send(fd, &offer, sizeof(offer));
		test_await(fd);
		destroy_region(&region);
		test_signal(fd);
	}
	test_await(fd);
	close_side(&side);
}

static void wait_until_closed(void)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;

	while (open_descriptors()) {
		CHECK(test_now_ms() < deadline);
		usleep(1000);
	}
}

static void read_by_file(struct side *side, struct region *sink, const struct offer *offer, uint32_t seed)
{
	struct softverbs_counters counters;
	uint64_t deadline = test_now_ms() + WAIT_MS;
	uint64_t before;
	uint8_t expected[BYTES];

	softverbs_get_counters(&counters, sizeof(counters));
	before = counters.reads_file;
	fill_pattern(expected, BYTES, seed);
	do { /* with process_vm_readv at hand the first one does not wait for the descriptor */
		CHECK_EQUAL(post_read(side->qp, 1, sink, BYTES, offer->addr, offer->rkey), 0);
		expect_completion(side->cq, 1, IBV_WC_SUCCESS);
		CHECK(!memcmp(sink->bytes, expected, BYTES));
		softverbs_get_counters(&counters, sizeof(counters));
		CHECK(test_now_ms() < deadline);
	} while (counters.reads_file == before);
	CHECK_EQUAL(counters.reads_wire, 0);
	CHECK_EQUAL(open_descriptors(), 1);
}

static void run(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct address own;
	struct region sink;
	struct side side;
	struct offer offer;

	open_side(&side, 16, 16);
	sink = create_region(side.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	own = address_of(&side);
	test_send(peer.fd, &own, sizeof(own));
	for (int round = 0; round < 2; round++) {
		test_receive(peer.fd, &offer, sizeof(offer));
		if (!round)
			connect_side(&side, &offer.address, NULL);
		read_by_file(&side, &sink, &offer, round);
		if (round) { /* the connection ends first */
			CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
			CHECK_EQUAL(open_descriptors(), 0);
			side.qp = create_qp(&side, 4);
		}
		test_signal(peer.fd);
		test_await(peer.fd);
		wait_until_closed();
	}
	destroy_region(&sink);
	close_side(&side);
	test_signal(peer.fd);
	test_join_peer(&peer);
}

int main(void)
{
	static const char *const paths[] = {"auto", "file"};
	int fd = mkstemp(file_name);

	CHECK(fd >= 0);
	close(fd);
	unlink(file_name);
	for (int i = 0; i < 2; i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			setenv("SOFTVERBS_PATH", paths[i], 1);
			run();
			exit(0);
		}
		CHECK_EQUAL(waitpid(pid, &status, 0), pid);
		CHECK_EQUAL(status, 0);
	}
}
