/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/settings.h"

#include "engine.h"
#include "process/log.h"
#include "process/secret.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const paths[] = {[PATH_AUTO] = "auto", [PATH_FILE] = "file", [PATH_CMA] = "cma",
				    [PATH_WIRE] = "wire", [PATH_TCP] = "tcp", NULL};

struct settings_state {
	pthread_once_t once, mode_once;
	int result;
	enum path_mode mode;
};

ENGINE_PART(settings, NULL);

static const char *setting(const char *key)
{
	const char *value = secure_getenv(key);

	return value && *value ? value : NULL;
}

static void read_mode(void)
{
	const char *value = setting("SOFTVERBS_PATH");

	for (int i = PATH_AUTO; value && paths[i]; i++)
		if (!strcmp(value, paths[i]))
			engine->settings->mode = i;
}

enum path_mode path_mode(void)
{
	pthread_once(&engine->settings->mode_once, read_mode);
	return engine->settings->mode;
}

static bool is_one_of(const char *key, const char *const *names)
{
	const char *value = setting(key);
	char known[64] = "";

	if (!value)
		return true;
	for (; *names; names++) {
		if (!strcmp(value, *names))
			return true;
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", *known ? ", " : "",
			 *names);
	}
	log_error("%s=%s is not known: use one of %s, or unset it", key, value, known);
	return false;
}

int settings_port_range(int *low, int *high)
{
	const char *value = setting("SOFTVERBS_PORT_RANGE");
	int used = 0;

	*low = *high = 0;
	if (!value)
		return 0;
	if (sscanf(value, "%d-%d%n", low, high, &used) == 2 && !value[used] && *low >= 1 && *low <= *high &&
	    *high <= 65535)
		return 0;
	log_error("SOFTVERBS_PORT_RANGE=%s is not LOW-HIGH with 1 <= LOW <= HIGH <= 65535, as in 20000-20015",
		  value);
	return EINVAL;
}

/* Only an address of this host can be bound. */
static bool can_bind(const struct sockaddr *address, socklen_t length)
{
	int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool bound = fd >= 0 && !bind(fd, address, length);

	if (fd >= 0)
		close(fd);
	return bound;
}

static bool address_is_ours(void)
{
	const char *value = setting("SOFTVERBS_ADDRESS");
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (!value)
		return true;
	if ((inet_pton(AF_INET, value, &v4.sin_addr) == 1 && v4.sin_addr.s_addr != htonl(INADDR_ANY) &&
	     can_bind((const struct sockaddr *)&v4, sizeof(v4))) ||
	    (inet_pton(AF_INET6, value, &v6.sin6_addr) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) &&
	     can_bind((const struct sockaddr *)&v6, sizeof(v6))))
		return true;
	log_error("SOFTVERBS_ADDRESS=%s is no IP address of this host: use one that `ip address` shows, or unset it",
		  value);
	return false;
}

static void judge(void)
{
	static const char *const levels[] = {"error", "warn", "info", "debug", NULL};
	static const char *const memlock[] = {"enforce", "ignore", NULL};
	int low, high;
	/* A sum has no short circuits, so that every wrong setting is reported. */
	int mistakes = !is_one_of("SOFTVERBS_PATH", paths) + !is_one_of("SOFTVERBS_LOG", levels) +
		       !is_one_of("SOFTVERBS_MEMLOCK", memlock) + !address_is_ours() +
		       (settings_port_range(&low, &high) != 0) + (secret_check() != 0);

	engine->settings->result = mistakes ? EINVAL : 0;
}

int settings_check(void)
{
	pthread_once(&engine->settings->once, judge);
	return engine->settings->result;
}
