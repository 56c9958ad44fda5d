/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softverbs-fault PATH|@NAME COMMAND...: gives one command to the fault control socket of a process and shows the
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

enum { ANSWER_SECONDS = 30, MAX_COMMAND = 4096 };

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "softverbs-fault: %s: %s\n", what, why);
	return 2;
}

static socklen_t make_name(const char *setting, struct sockaddr_un *name)
{
	size_t length = strlen(setting);

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (length >= sizeof(name->sun_path))
		return 0;
	memcpy(name->sun_path, setting, length);
	if (*setting != '@')
		return offsetof(struct sockaddr_un, sun_path) + length + 1;
	name->sun_path[0] = 0;
	return offsetof(struct sockaddr_un, sun_path) + length;
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
	struct sockaddr_un name;
	socklen_t length;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: softverbs-fault PATH|@NAME COMMAND...   ('help' lists the commands)\n");
		return 2;
	}
	length = make_name(argv[1], &name);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!length || fd < 0 || connect(fd, (struct sockaddr *)&name, length))
		return fail(argv[1], length ? strerror(errno) : "the name is too long");
	return ask(fd, argv + 2, argc - 2);
}
