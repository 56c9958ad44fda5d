/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the control socket. */
#include "fault/fault_control.h"
#include "fault/fault_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "set RULES | clear [NUMBER] | list | raise EVENT [qp=N] | "
			    "links cut|silence|refuse|heal [qp=N] | links slow [rate=BYTES] [delay=MS] [qp=N] | help";

void fault_say(struct fault_answer *answer, const char *format, ...)
{
	size_t used = strlen(answer->text);
	va_list args;

	va_start(args, format);
	vsnprintf(answer->text + used, answer->size - used, format, args);
	va_end(args);
}

static void set_rules(char *text, struct fault_answer *answer)
{
	char message[FAULT_MAX_MESSAGE];
	struct fault_rule *rules = fault_parse(text, message);
	unsigned int first, count = 0;

	if (!rules) {
		fault_say(answer, "error %s", message);
		return;
	}
	for (const struct fault_rule *rule = rules; rule; rule = rule->next)
		count++;
	first = fault_add_rules(rules);
	fault_say(answer, "ok rules %u to %u", first, first + count - 1);
}

static void clear_rules(char *text, struct fault_answer *answer)
{
	uint64_t number = 0;
	unsigned int cleared;

	if (*text && !fault_parse_number(text, 1, UINT32_MAX, &number)) {
		fault_say(answer, "error clear %s: give the number that list shows, or nothing for all", text);
		return;
	}
	cleared = fault_clear_rules(number);
	if (number && !cleared)
		fault_say(answer, "error clear %s: there is no such rule", text);
	else
		fault_say(answer, "ok cleared %u", cleared);
}

static void show_rule(const struct fault_rule *rule, void *answer)
{
	fault_say(answer, "; %u %s seen=%llu hits=%llu", rule->number, rule->text, (unsigned long long)rule->seen,
	    (unsigned long long)rule->hits);
}

static void list_rules(char *text, struct fault_answer *answer)
{
	(void)text;
	fault_say(answer, "ok");
	fault_visit_rules(show_rule, answer);
}

static void help(char *text, struct fault_answer *answer)
{
	(void)text;
	fault_say(answer, "ok %s", usage);
}

char *fault_cut_word(char *text)
{
	text += strcspn(text, " ");
	while (*text == ' ')
		*text++ = 0;
	return text;
}

bool fault_parse_words(char *text, bool slow, struct fault_words *words, struct fault_answer *answer)
{
	uint64_t number;

	*words = (struct fault_words){0};
	for (char *word = text, *next; *word; word = next) {
		next = fault_cut_word(word);
		if (!strncmp(word, "qp=", 3) && fault_parse_number(word + 3, 0, 0xffffff, &number))
			words->qpn = number;
		else if (slow && !strncmp(word, "rate=", 5) && fault_parse_number(word + 5, 0, UINT64_MAX, &number))
			words->rate = number;
		else if (slow && !strncmp(word, "delay=", 6) && fault_parse_number(word + 6, 0, 3600000, &number))
			words->delay_ms = number;
		else {
			fault_say(answer, "error %s: %s", word, slow ? "use rate=BYTES (a second), delay=MS, qp=N" : "use qp=N");
			return false;
		}
	}
	return true;
}

static const struct fault_command own_commands[] = {
	{"set", set_rules}, {"clear", clear_rules}, {"list", list_rules}, {"help", help}, {"", help}, {NULL, NULL},
};

static const struct fault_command *find(const struct fault_command *commands, const char *name)
{
	while (commands->name && strcmp(commands->name, name))
		commands++;
	return commands->name ? commands : NULL;
}

void fault_command(char *line, char *text, size_t size)
{
	struct fault_answer answer = {text, size};
	const struct fault_command *command;
	size_t length = strlen(line);
	char *rest;

	*text = 0;
	while (length && strchr(" \r\t", line[length - 1]))
		line[--length] = 0;
	rest = fault_cut_word(line);
	command = find(own_commands, line);
	if (!command)
		command = find(fault_commands, line);
	if (command)
		command->execute(rest, &answer);
	else
		fault_say(&answer, "error there is no command %.60s: %s", line, usage);
}
