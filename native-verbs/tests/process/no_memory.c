/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that loads the library while memory is short lives on: one line says so, and it finds no device, nor can it make
 * anything else.
 */
#include "cm_fixture.h"
#include "softdev_fixture.h"

enum { LOADED = 3, MOST_CALLS = 200 };

#ifndef __SANITIZE_ADDRESS__
void *__libc_calloc(size_t count, size_t bytes);
__attribute__((visibility("default"))) void *calloc(size_t count, size_t bytes);

/* Replaces that of the C library, for the device as well: the call of that number fails, while it is loaded. */
void *calloc(size_t count, size_t bytes)
{
	static int calls;
	const char *failing = calls >= 0 ? getenv("FAILING_CALL") : NULL;

	if (failing && ++calls == atoi(failing)) {
		calls = -1; /* it has failed */
		errno = ENOMEM;
		return NULL;
	}
	return __libc_calloc(count, bytes);
}
#endif

static int use_what_there_is(void)
{
	static const char secret[] = "long enough to be one";
	struct softverbs_counters counters;
	struct rdma_cm_id *id;
	pid_t pid;

	if (!softverbs_get_counters(&counters, sizeof(counters)))
		return LOADED;
	CHECK_REFUSED(softverbs_ibv_get_device_list(NULL), ENOMEM);
	CHECK_REFUSED(softverbs_rdma_create_event_channel(), ENOMEM);
	CHECK_FAILS(softverbs_rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), ENOMEM);
	CHECK_REFUSED(softverbs_rdma_get_devices(NULL), ENOMEM);
	CHECK_EQUAL(softverbs_set_secret(secret, sizeof(secret)), ENOMEM);
	CHECK_EQUAL(softverbs_accept_secret(secret, sizeof(secret)), ENOMEM);
	CHECK_EQUAL(softverbs_forget_secret(secret, sizeof(secret)), ENOENT);
	pid = test_fork();
	if (!pid)
		_exit(0);
	test_join(pid);
	return 0;
}

/* Returns how the program ended whose call of that number failed, and how many lines it wrote about memory. */
static int run_with_failing_call(int number, int *lines)
{
	char command[512], text[512] = "";
	FILE *output;

	snprintf(command, sizeof(command), "FAILING_CALL=%d exec /proc/%d/exe child 2>&1", number, (int)getpid());
	output = popen(command, "re");
	CHECK(output);
	*lines = 0;
	while (fgets(text, sizeof(text), output)) {
		fputs(text, stderr);
		*lines += !!strstr(text, "no memory for the device");
	}
	return pclose(output);
}

int main(int argc, char **argv)
{
	int lines, status, failed = 0;

	(void)argv;
	alarm(TEST_SECONDS);
	if (argc > 1)
		return use_what_there_is();
#ifdef __SANITIZE_ADDRESS__
	test_skip("the sanitizer has a calloc() of its own");
#endif
	for (int number = 1; number < MOST_CALLS; number++) {
		status = run_with_failing_call(number, &lines);
		CHECK(WIFEXITED(status));
		if (WEXITSTATUS(status) == LOADED) /* a call of somebody else's, or all of the device's are over */
			continue;
		CHECK_EQUAL(WEXITSTATUS(status), 0);
		CHECK(lines > 0);
		failed++;
	}
	CHECK(failed > 20); /* the engine has more parts than that */
}
