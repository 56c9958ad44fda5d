/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOFTVERBS_FAULT_CONTROL=PATH or @NAME names a unix socket at which the owner of the process sets faults while it runs.
 * Each line is a command, and its answer is a line "ok ..." or "error ..."; docs/fault-injection.md lists the commands.
 */
#ifndef SOFTDEV_FAULT_CONTROL_H
#define SOFTDEV_FAULT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Listens, at the first call, if the variable is set. 0, or a positive errno after an error message. */
int fault_control_start(void);

/* fault_commands.c. Executes a line and writes the answer, without its newline. Progress thread. */
void fault_command(char *line, char *answer, size_t size);

/* The rest is for those who execute commands. */
struct fault_answer {
	char *text;
	size_t size;
};

/* Appends to the answer. */
__attribute__((format(printf, 2, 3))) void fault_say(struct fault_answer *answer, const char *format, ...);

struct fault_command {
	const char *name;
	void (*execute)(char *text, struct fault_answer *answer); /* the text behind the name, which it may cut up */
};
/* The commands of other folders, up to one without a name; parts.c names them. */
extern const struct fault_command fault_commands[];

/* Ends the first word of the text, and returns what is behind it. */
char *fault_cut_word(char *text);
/* The words key=value that follow; 0 for those that are missing. */
struct fault_words {
	uint32_t qpn;
	uint64_t rate;
	uint32_t delay_ms;
};
/* Parses them; `slow` says that there may be others than qp=N. Returns false after an error in the answer. */
bool fault_parse_words(char *text, bool slow, struct fault_words *words, struct fault_answer *answer);

#endif
