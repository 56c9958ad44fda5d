/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RULES = 16, MAX_TEXT = 4096 };

struct rule {
	enum fault_point point;
	struct fault fault;
	uint64_t nth, count;
	char *once;
};

bool fault_any;

static const char *const point_names[FAULT_POINTS] = {
	[FAULT_REG_MR] = "reg_mr",
	[FAULT_POST_SEND] = "post_send",
	[FAULT_READ] = "read",
};

static struct rule rules[MAX_RULES]; /* written before fault_any is, by the constructor */
static unsigned int rule_count;
static char rule_text[MAX_TEXT]; /* cut up; the rules point into it */
static uint64_t events[FAULT_POINTS];

/* Decimal digits alone: a number that is not understood would be a fault that never strikes. */
static bool parse_number(const char *text, uint64_t max, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !errno && !*end && *number <= max;
}

static bool parse_pair(struct rule *rule, const char *key, char *value)
{
	uint64_t number;

	if (!strcmp(key, "once")) {
		rule->once = value;
		return *value;
	}
	if (!parse_number(value, UINT32_MAX, &number))
		return false;
	if (!strcmp(key, "nth"))
		rule->nth = number;
	else if (!strcmp(key, "count"))
		rule->count = number;
	else if (number > INT16_MAX)
		return false;
	else if (!strcmp(key, "errno"))
		rule->fault.error = number;
	else if (!strcmp(key, "status"))
		rule->fault.status = number;
	else if (!strcmp(key, "flip"))
		rule->fault.flip = number;
	else if (!strcmp(key, "killpeer"))
		rule->fault.kill_peer = number;
	else
		return false;
	return true;
}

/* "point:key=value,..."; the text is cut up and kept. */
static bool parse_rule(char *text, struct rule *rule)
{
	char *settings = strchr(text, ':');
	char *state = NULL;

	if (!settings)
		return false;
	*settings++ = 0;
	*rule = (struct rule){.point = FAULT_POINTS, .fault.status = -1, .nth = 1, .count = 1};
	for (int i = 0; i < FAULT_POINTS; i++)
		if (!strcmp(text, point_names[i]))
			rule->point = i;
	for (char *pair = strtok_r(settings, ",", &state); pair; pair = strtok_r(NULL, ",", &state)) {
		char *value = strchr(pair, '=');

		if (!value)
			return false;
		*value++ = 0;
		if (!parse_pair(rule, pair, value))
			return false;
	}
	return rule->point != FAULT_POINTS && rule->nth && rule->count;
}

__attribute__((constructor)) static void read_rules(void)
{
	const char *setting = getenv("SOFTVERBS_FAULT");
	char *state = NULL;

	if (!setting)
		return;
	if (strlen(setting) >= sizeof(rule_text)) {
		log_error("SOFTVERBS_FAULT is longer than %d bytes", MAX_TEXT - 1);
		abort();
	}
	strcpy(rule_text, setting);
	for (char *text = strtok_r(rule_text, ";", &state); text; text = strtok_r(NULL, ";", &state)) {
		if (rule_count == MAX_RULES || !parse_rule(text, &rules[rule_count])) {
			log_error("SOFTVERBS_FAULT=%s is not understood at \"%s\": give point:key=number,... as "
				  "docs/software-device.md lists them, or unset it", setting, text);
			abort(); /* a test that asks for a fault must not pass without it */
		}
		rule_count++;
	}
	fault_any = rule_count > 0;
}

static bool claim(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0) {
		if (errno != EEXIST)
			log_error("SOFTVERBS_FAULT once=%s: %s", path, strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

const struct fault *fault_hit(enum fault_point point)
{
	uint64_t number = __atomic_add_fetch(&events[point], 1, __ATOMIC_RELAXED);

	for (unsigned int i = 0; i < rule_count; i++) {
		const struct rule *rule = &rules[i];

		if (rule->point != point || number < rule->nth || number - rule->nth >= rule->count)
			continue;
		if (rule->once && !claim(rule->once))
			continue;
		log_info("fault %s at event %llu", point_names[point], (unsigned long long)number);
		return &rule->fault;
	}
	return NULL;
}
