/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each connection carried is known: by softverbs_get_connection while it is there, and as a line of the file
 * SOFTVERBS_CONNECTIONS when its queue pair is destroyed or the process ends.
 */
#include "captured.h"
#include "softdev_fixture.h"

enum { LENGTH = 4096, READS = 3 };

static char path[64];

/* One queue pair is destroyed, one is left behind. */
static void read_and_leave(void)
{
	struct softverbs_connection record = {0};
	struct ibv_qp *fresh;
	struct pair kept, gone;

	open_pair_as(&kept, &(struct pair_setup){0});
	open_pair_as(&gone, &(struct pair_setup){0});
	fresh = create_qp(&gone.a, 4);
	CHECK_EQUAL(softverbs_get_connection(fresh, &record, sizeof(record)), ENOTCONN);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(fresh), 0);
	for (int i = 0; i < READS; i++)
		pair_run(&gone, IBV_WR_RDMA_READ, i, LENGTH, IBV_WC_SUCCESS);
	pair_run(&gone, IBV_WR_RDMA_WRITE, READS, LENGTH, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_get_connection(gone.a.qp, &record, sizeof(record)), 0);
	CHECK_EQUAL(record.reads_file, test_path_is("file") ? READS : 0);
	CHECK_EQUAL(record.reads_cma, test_path_is("cma") ? READS : 0);
	CHECK_EQUAL(record.reads_wire, test_path_is_wire() ? READS : 0);
	CHECK_EQUAL(record.read_bytes_file + record.read_bytes_cma + record.read_bytes_wire, READS * LENGTH);
	CHECK_EQUAL(record.writes, 1);
	CHECK_EQUAL(record.write_bytes, LENGTH);
	CHECK_EQUAL(record.is_tcp, test_path_is("tcp"));
	close_side(&gone.a);
	close_side(&gone.b);
	pair_run(&kept, IBV_WR_RDMA_READ, 1, LENGTH, IBV_WC_SUCCESS);
}

static void body(void)
{
	const char *name = test_path_is("tcp") ? "wire" : getenv("SOFTVERBS_PATH");
	const char *link = test_path_is("tcp") ? "\"link\":\"tcp\"" : "\"link\":\"unix\"";
	char words[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/softdev-connections-%d", (int)getpid());
	setenv("SOFTVERBS_CONNECTIONS", path, 1);
	test_run_apart(read_and_leave);
	file = fopen(path, "re");
	CHECK(file);
	unlink(path);
	snprintf(words, sizeof(words), "\"reads_%s\":%d,", name, READS);
	CHECK_EQUAL(lines_with(file, words, link), 1);
	snprintf(words, sizeof(words), "\"reads_%s\":1,", name);
	CHECK_EQUAL(lines_with(file, words, link), 1);
	fclose(file);
}

int main(void)
{
	on_each_path(body);
}
