/* SPDX-License-Identifier: Apache-2.0 */
/* The environment: a value that cannot be used closes the device, with a message that names it; a good one works. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "softdev_fixture.h"

enum { MESSAGE_BYTES = 512 };

/* Runs body() in a process of its own with one variable set; `message` is what it wrote to stderr. */
static void with_setting(const char *key, const char *value, void (*body)(void), char *message)
{
	FILE *log = tmpfile();
	int status;
	pid_t pid = test_fork();

	CHECK(log);
	if (!pid) {
		CHECK(dup2(fileno(log), STDERR_FILENO) == STDERR_FILENO);
		setenv(key, value, 1);
		body();
		exit(0);
	}
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	rewind(log);
	message[fread(message, 1, MESSAGE_BYTES - 1, log)] = 0;
	fclose(log);
	if (status)
		fprintf(stderr, "%s=%s: %s\n", key, value, message);
	CHECK_EQUAL(status, 0);
}

static void cannotBeOpened(void)
{
	struct ibv_device **list = softverbs_ibv_get_device_list(NULL);

	CHECK_REFUSED(softverbs_ibv_open_device(list[0]), EINVAL);
	softverbs_ibv_free_device_list(list);
}

static void worksWithTheSecondLoopback(void)
{
	struct in6_addr gid;
	struct pair pair;
	struct address address;

	open_pair(&pair, NULL, NULL);
	address = address_of(&pair.a);
	memcpy(&gid, &address.gid, sizeof(gid));
	CHECK_EQUAL(gid.s6_addr[12], 127);
	CHECK_EQUAL(gid.s6_addr[15], 9);
	close_pair(&pair);
}

static void takesAPortOfTheRange(void)
{
	int low, high;
	struct side side;

	CHECK_EQUAL(sscanf(getenv("SOFTVERBS_PORT_RANGE"), "%d-%d", &low, &high), 2);
	open_side(&side, 16, 16);
	CHECK((int)(side.qp->qp_num >> 8) >= low && (int)(side.qp->qp_num >> 8) <= high);
	close_side(&side);
}

static void findsNoPort(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = softverbs_ibv_alloc_pd(context);
	struct ibv_cq *cq = softverbs_ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	CHECK_REFUSED(softverbs_ibv_create_qp(pd, &init), EADDRINUSE);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(cq), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
}

static void badValuesAreRefused(void)
{
	static const char *const bad[][2] = {
		{"SOFTVERBS_PATH", "fast"},
		{"SOFTVERBS_LOG", "loud"},
		{"SOFTVERBS_MEMLOCK", "yes"},
		{"SOFTVERBS_ADDRESS", "localhost"},
		{"SOFTVERBS_ADDRESS", "198.51.100.7"},
		{"SOFTVERBS_ADDRESS", "0.0.0.0"},
		{"SOFTVERBS_PORT_RANGE", "20000"},
		{"SOFTVERBS_PORT_RANGE", "20001-20000"},
		{"SOFTVERBS_PORT_RANGE", "20000-20001,20005"},
		{"SOFTVERBS_PORT_RANGE", "0-70000"},
		{"SOFTVERBS_SECRET", ""},
		{"SOFTVERBS_SECRET_FILE", "/nonexistent/secret"},
		{"SOFTVERBS_SECRET_FILE", "/dev/null"},
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		char message[MESSAGE_BYTES];

		with_setting(bad[i][0], bad[i][1], cannotBeOpened, message);
		CHECK(strstr(message, bad[i][0]) && strstr(message, bad[i][1]));
	}
}

/* The message names the variable, the length of the value and the remedy, but not the secret. */
static void shortSecretsAreRefused(void)
{
	char message[MESSAGE_BYTES];

	with_setting("SOFTVERBS_SECRET", "fifteen letters", cannotBeOpened, message);
	CHECK(strstr(message, "SOFTVERBS_SECRET holds a secret of 15 bytes") && strstr(message, "16 to 256"));
	CHECK(strstr(message, "openssl rand") && !strstr(message, "fifteen letters"));
}

static void goodValuesWork(void)
{
	char message[MESSAGE_BYTES], range[32];
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	socklen_t length = sizeof(any);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	with_setting("SOFTVERBS_ADDRESS", "127.0.0.9", worksWithTheSecondLoopback, message);
	with_setting("SOFTVERBS_PORT_RANGE", "20000-29999", takesAPortOfTheRange, message);
	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)))
		return; /* no IPv6 here */
	CHECK(!getsockname(fd, (struct sockaddr *)&any, &length));
	snprintf(range, sizeof(range), "%d-%d", ntohs(any.sin6_port), ntohs(any.sin6_port));
	with_setting("SOFTVERBS_PORT_RANGE", range, findsNoPort, message);
	CHECK(strstr(message, range) && strstr(message, "widen"));
	close(fd);
}

int main(void)
{
	alarm(TEST_SECONDS);
	badValuesAreRefused();
	shortSecretsAreRefused();
	goodValuesWork();
}
