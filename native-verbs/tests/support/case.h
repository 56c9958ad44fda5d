/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases of a test, each with a name. They run one after the other, as calls do; with TEST_CASES=each every one has a process
 * of its own and a line that says how it ended (see tests/run), so the failure of one hides no other. Each must
 * open what it needs itself.
 */
#ifndef SHUFFLE_RDMA_TEST_CASE_H
#define SHUFFLE_RDMA_TEST_CASE_H

#include "test.h"

struct test_case {
	const char *name;
	void (*run)(void);
	struct test_case *next;
};

static struct {
	struct test_case *first, *last;
} test_cases;

/* `CASE(name) { ... }` is a case of this program; run_cases() runs them all, in the order of the file. */
#define CASE(name)                                                                                                     \
	static void name(void);                                                                                        \
	__attribute__((constructor)) static void add_##name(void)                                                      \
	{                                                                                                              \
		static struct test_case this_case = {#name, name, NULL};                                               \
                                                                                                                       \
		*(test_cases.last ? &test_cases.last->next : &test_cases.first) = &this_case;                                         \
		test_cases.last = &this_case;                                                                               \
	}                                                                                                              \
	static void name(void)

static inline bool case_has_process(void)
{
	return getenv("TEST_CASES") != NULL;
}

/* The process that has seen a case fail: what it starts afterwards inherits its handler. */
static pid_t case_seen_failing;

static inline void case_fail_program(void)
{
	fflush(NULL);
	if (getpid() == case_seen_failing)
		_exit(1);
}

/* True where the case is to run now. Afterwards case_ends() is due there. */
static inline bool case_begins(const char *name)
{
	int status;
	pid_t pid;

	if (!case_has_process())
		return true;
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(TEST_SECONDS);
		return true;
	}
	alarm(0); /* the case has its own */
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fprintf(stderr, "differs: ended by signal %d\n", WTERMSIG(status));
	printf("%s %s\n", status ? "FAIL" : "PASS", name);
	fflush(stdout);
	if (status && case_seen_failing != getpid()) {
		case_seen_failing = getpid();
		CHECK(!atexit(case_fail_program));
	}
	return false;
}

static inline void case_ends(void)
{
	if (case_has_process())
		exit(0);
}

static inline void run_cases(void)
{
	for (const struct test_case *one = test_cases.first; one; one = one->next)
		if (case_begins(one->name)) {
			one->run();
			case_ends();
		}
}

#endif
