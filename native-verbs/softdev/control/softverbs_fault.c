/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softverbs-fault PID|PATH|@NAME COMMAND...: gives one command to the fault control socket of a process and shows the
 * answer. Exit status 0 for "ok", 1 for "error", 2 if nobody could be asked.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_SECONDS = 30, MAX_ENVIRON = 1 << 20, MAX_COMMAND = 4096 };

static const char variable[] = "SOFTVERBS_FAULT_CONTROL=";

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "softverbs-fault: %s: %s\n", what, why);
	return 2;
}

/* What the process was started with; NULL if it cannot be read, or is not there. */
static const char *setting_of(const char *pid)
{
	static char text[MAX_ENVIRON + 1];
	char path[64];
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	length = fread(text, 1, MAX_ENVIRON, file);
	fclose(file);
	for (const char *entry = text; entry < text + length; entry += strlen(entry) + 1)
		if (!strncmp(entry, variable, strlen(variable)))
			return entry + strlen(variable);
	errno = 0;
	return NULL;
}

static socklen_t make_name(const char *setting, const char *pid, struct sockaddr_un *name)
{
	const char *place = pid ? strstr(setting, "%p") : NULL;
	int used;

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (place)
		used = snprintf(name->sun_path, sizeof(name->sun_path), "%.*s%s%s", (int)(place - setting), setting, pid,
				place + 2);
	else
		used = snprintf(name->sun_path, sizeof(name->sun_path), "%s", setting);
	if (used >= (int)sizeof(name->sun_path))
		return 0;
	if (*setting == '@') {
		name->sun_path[0] = 0;
		return offsetof(struct sockaddr_un, sun_path) + used;
	}
	return offsetof(struct sockaddr_un, sun_path) + used + 1;
}

static int ask(int fd, char **words, int count)
{
	char line[MAX_COMMAND + 2] = "", answer[4096], first = 0;
	struct timeval limit = {.tv_sec = ANSWER_SECONDS};
	size_t used = 0;
	ssize_t got;

	for (int i = 0; i < count; i++)
		used += snprintf(line + used, used < MAX_COMMAND ? MAX_COMMAND - used : 0, "%s%s", i ? " " : "",
				 words[i]);
	if (used >= MAX_COMMAND || strchr(line, '\n'))
		return fail("the command", "it is too long, or more than a line");
	line[used++] = '\n';
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (send(fd, line, used, MSG_NOSIGNAL) != (ssize_t)used)
		return fail("the command was not sent", strerror(errno));
	while ((got = recv(fd, answer, sizeof(answer), 0)) > 0) {
		first = first ? first : answer[0];
		fwrite(answer, 1, got, stdout);
		if (answer[got - 1] == '\n')
			return first == 'o' ? 0 : 1;
	}
	return fail("no answer", got ? strerror(errno) : "the process hung up");
}

int main(int argc, char **argv)
{
	const char *target = argc > 1 ? argv[1] : "", *setting = target, *pid = NULL;
	struct sockaddr_un name;
	socklen_t length;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: softverbs-fault PID|PATH|@NAME COMMAND...   ('help' lists the commands)\n");
		return 2;
	}
	if (strspn(target, "0123456789") == strlen(target)) {
		pid = target;
		setting = setting_of(pid);
		if (!setting)
			return fail(pid, errno == ENOENT ? "no such process"
					 : errno         ? strerror(errno)
							 : "the process was started without SOFTVERBS_FAULT_CONTROL");
	}
	length = make_name(setting, pid, &name);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!length || fd < 0 || connect(fd, (struct sockaddr *)&name, length))
		return fail(setting, length ? strerror(errno) : "the name is too long");
	return ask(fd, argv + 2, argc - 2);
}
