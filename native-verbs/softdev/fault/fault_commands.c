/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the control socket. */
#include "fault/fault_async.h"
#include "fault/fault_control.h"
#include "fault/fault_rules.h"
#include "link/link_fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "set RULES | clear [NUMBER] | list | raise EVENT [qp=N] | "
			    "links cut|silence|refuse|heal [qp=N] | links slow [rate=BYTES] [delay=MS] [qp=N] | help";

struct answer {
	char *text;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static void say(struct answer *answer, const char *format, ...)
{
	size_t used = strlen(answer->text);
	va_list args;

	va_start(args, format);
	vsnprintf(answer->text + used, answer->size - used, format, args);
	va_end(args);
}

static void set_rules(char *text, struct answer *answer)
{
	char message[FAULT_MAX_MESSAGE];
	struct fault_rule *rules = fault_parse(text, message);
	unsigned int first, count = 0;

	if (!rules) {
		say(answer, "error %s", message);
		return;
	}
	for (const struct fault_rule *rule = rules; rule; rule = rule->next)
		count++;
	first = fault_add_rules(rules);
	say(answer, "ok rules %u to %u", first, first + count - 1);
}

static void clear_rules(const char *text, struct answer *answer)
{
	uint64_t number = 0;
	unsigned int cleared;

	if (text && !fault_parse_number(text, 1, UINT32_MAX, &number)) {
		say(answer, "error clear %s: give the number that list shows, or nothing for all", text);
		return;
	}
	cleared = fault_clear_rules(number);
	if (number && !cleared)
		say(answer, "error clear %s: there is no such rule", text);
	else
		say(answer, "ok cleared %u", cleared);
}

static void show_rule(const struct fault_rule *rule, void *answer)
{
	say(answer, "; %u %s seen=%llu hits=%llu", rule->number, rule->text, (unsigned long long)rule->seen,
	    (unsigned long long)rule->hits);
}

/* Parses the words key=value that follow. */
static bool parse_words(char **state, struct link_command *command, bool slow, struct answer *answer)
{
	uint64_t number;
	char *word;

	while ((word = strtok_r(NULL, " ", state))) {
		if (!strncmp(word, "qp=", 3) && fault_parse_number(word + 3, 0, 0xffffff, &number))
			command->qpn = number;
		else if (slow && !strncmp(word, "rate=", 5) && fault_parse_number(word + 5, 0, UINT64_MAX, &number))
			command->rate = number;
		else if (slow && !strncmp(word, "delay=", 6) && fault_parse_number(word + 6, 0, 3600000, &number))
			command->delay_ms = number;
		else {
			say(answer, "error %s: %s", word,
			    slow ? "use rate=BYTES (a second), delay=MS, qp=N" : "use qp=N");
			return false;
		}
	}
	return true;
}

static void raise_event(char **state, struct answer *answer)
{
	char *name = strtok_r(NULL, " ", state);
	struct link_command where = {0};
	char message[FAULT_MAX_MESSAGE];
	uint64_t event;

	if (!fault_parse_name("event", name ? name : "", fault_async_names, 0, FAULT_MAX_ASYNC, &event, message))
		say(answer, "error %s", message);
	else if (parse_words(state, &where, false, answer))
		say(answer, "ok raised on %u", fault_raise(event, where.qpn));
}

static void order_links(char **state, struct answer *answer)
{
	static const char *const orders[] = {
		[LINK_ORDER_CUT] = "cut",	[LINK_ORDER_SILENCE] = "silence", [LINK_ORDER_SLOW] = "slow",
		[LINK_ORDER_REFUSE] = "refuse", [LINK_ORDER_HEAL] = "heal",
	};
	const char *name = strtok_r(NULL, " ", state);
	struct link_command command = {0};

	for (int i = 0; name && i < LINK_ORDERS; i++) {
		if (strcmp(name, orders[i]))
			continue;
		command.order = i;
		if (!parse_words(state, &command, i == LINK_ORDER_SLOW, answer))
			return;
		if (i == LINK_ORDER_SLOW && !command.rate && !command.delay_ms)
			say(answer, "error links slow: use rate=BYTES (a second), delay=MS, or both");
		else
			say(answer, "ok links %u", link_fault_command(&command));
		return;
	}
	say(answer, "error links %s: use cut, silence, slow, refuse or heal", name ? name : "");
}

void fault_command(char *line, char *text, size_t size)
{
	struct answer answer = {text, size};
	size_t length = strlen(line);
	char *state, *word;

	*text = 0;
	while (length && strchr(" \r\t", line[length - 1]))
		line[--length] = 0;
	if (!strncmp(line, "set ", 4)) {
		set_rules(line + 4, &answer);
		return;
	}
	word = strtok_r(line, " ", &state);
	if (!word || !strcmp(word, "help")) {
		say(&answer, "ok %s", usage);
	} else if (!strcmp(word, "clear")) {
		clear_rules(strtok_r(NULL, " ", &state), &answer);
	} else if (!strcmp(word, "list")) {
		say(&answer, "ok");
		fault_visit_rules(show_rule, &answer);
	} else if (!strcmp(word, "raise")) {
		raise_event(&state, &answer);
	} else if (!strcmp(word, "links")) {
		order_links(&state, &answer);
	} else {
		say(&answer, "error there is no command %.60s: %s", word, usage);
	}
}
