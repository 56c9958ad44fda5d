/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of fault injection: SOFTVERBS_FAULT is read when the library is loaded, so each is this program once more. */
#ifndef SHUFFLE_RDMA_FAULT_FIXTURE_H
#define SHUFFLE_RDMA_FAULT_FIXTURE_H

#include "softdev_fixture.h"

enum { FAULT_BYTES = 65536, UNTOUCHED = 0x55 };

struct fault_case {
	const char *fault;
	void (*between)(struct pair *pair); /* with an open pair */
	void (*body)(void);		    /* or without */
	const char *path;		    /* SOFTVERBS_PATH, NULL = auto */
	struct connection how;		    /* of the pair */
};

/* A pair with a region on each side; that of `b` is filled with UNTOUCHED. */
static inline void open_fault_pair(struct pair *pair, const struct connection *how)
{
	struct pair_setup setup = {.bytes = FAULT_BYTES};

	if (how)
		setup.a = setup.b = *how;
	open_pair_as(pair, &setup);
	memset(pair->remote->bytes, UNTOUCHED, FAULT_BYTES);
}

static inline void run_fault_body(const struct fault_case *fault_case)
{
	struct pair pair;

	if (fault_case->body) {
		fault_case->body();
		return;
	}
	open_fault_pair(&pair, &fault_case->how);
	fault_case->between(&pair);
	close_pair(&pair);
}

static inline void run_fault_case(const struct fault_case *fault_case, int number)
{
	char text[16];
	int status;
	pid_t pid = test_fork();

	if (!pid) {
		setenv("SOFTVERBS_FAULT", fault_case->fault, 1);
		if (fault_case->path)
			setenv("SOFTVERBS_PATH", fault_case->path, 1);
		snprintf(text, sizeof(text), "%d", number);
		execl("/proc/self/exe", "fault", text, (char *)NULL);
		_exit(127);
	}
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	if (status) {
		fprintf(stderr, "with SOFTVERBS_FAULT=%s:\n", fault_case->fault);
		CHECK_EQUAL(status, 0);
	}
}

static inline int run_fault_cases(int argc, char **argv, const struct fault_case *cases, int count)
{
	alarm(TEST_SECONDS);
	if (argc == 2) {
		run_fault_body(&cases[atoi(argv[1])]);
		return 0;
	}
	for (int i = 0; i < count; i++)
		run_fault_case(&cases[i], i);
	return 0;
}

#define RUN_FAULT_CASES(cases) run_fault_cases(argc, argv, cases, COUNT_OF(cases))

#define FAULT_MAIN(cases)                                                                          \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return RUN_FAULT_CASES(cases);                                                     \
	}

/* The connection works: a READ brings what is there. */
static inline void expect_good_read(struct pair *pair, uint64_t wr_id)
{
	pair_run(pair, IBV_WR_RDMA_READ, wr_id, 64, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair->local->bytes[63], UNTOUCHED);
}

#endif
