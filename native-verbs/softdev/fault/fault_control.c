/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fault/fault_control.h"

#include "core.h"
#include "engine.h"
#include "fault/fault_rules.h"
#include "process/log.h"
#include "process/progress.h"
#include "process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINE_BYTES = FAULT_MAX_TEXT + 64, ANSWER_BYTES = 32768 };

struct client {
	struct progress_watch watch;
	size_t used;
	char line[LINE_BYTES];
};

struct fault_control_state {
	pthread_once_t once;
	int result; /* of starting */
	struct progress_watch listener;
	char socket_path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	char answer[ANSWER_BYTES];
};

ENGINE_PART(fault_control, NULL);

static void close_client(struct client *client)
{
	progress_watch_remove(&client->watch);
	close(client->watch.fd);
	free(client);
}

/* Returns false if the client does not take the answer at once. */
static bool answer(struct client *client, char *line)
{
	char *text = engine->fault_control->answer;
	size_t length;

	fault_command(line, text, ANSWER_BYTES - 1);
	length = strlen(text);
	text[length++] = '\n';
	return send(client->watch.fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length;
}

/* Answers the complete lines; returns false if the connection must be closed. */
static bool answer_lines(struct client *client)
{
	char *start = client->line, *end;
	size_t rest = client->used;

	while ((end = memchr(start, '\n', rest))) {
		*end = 0;
		if (!answer(client, start))
			return false;
		rest -= end + 1 - start;
		start = end + 1;
	}
	memmove(client->line, start, rest);
	client->used = rest;
	return rest < LINE_BYTES;
}

static void on_input(void *owner, uint32_t events)
{
	struct client *client = owner;
	ssize_t got = recv(client->watch.fd, client->line + client->used, LINE_BYTES - client->used, MSG_DONTWAIT);

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		client->used += got;
	if (got <= 0 || !answer_lines(client))
		close_client(client);
}

/* Processes of the same user may control it: they could write to the memory of this process anyway. */
static void on_client(void *unused, uint32_t events)
{
	int fd = accept4(engine->fault_control->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client;

	(void)unused;
	(void)events;
	if (fd < 0)
		return;
	client = user_is_own_at(fd) ? calloc(1, sizeof(*client)) : NULL;
	if (!client) {
		log_warn("fault control is refused: to another user, or for want of memory");
		close(fd);
		return;
	}
	client->watch = (struct progress_watch){.fd = fd, .callback = on_input, .owner = client};
	if (progress_watch_set(&client->watch, EPOLLIN))
		close_client(client);
}

__attribute__((destructor)) static void remove_socket(void)
{
	if (engine && *engine->fault_control->socket_path)
		unlink(engine->fault_control->socket_path);
}

/* Makes the name, with %p replaced by the process id. Returns its length, 0 if it does not fit. */
static socklen_t make_name(const char *setting, struct sockaddr_un *name)
{
	const char *pid = strstr(setting, "%p");
	bool abstract = *setting == '@';
	int used;

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (pid)
		used = snprintf(name->sun_path, sizeof(name->sun_path), "%.*s%d%s", (int)(pid - setting), setting,
				(int)getpid(), pid + 2);
	else
		used = snprintf(name->sun_path, sizeof(name->sun_path), "%s", setting);
	if (used >= (int)sizeof(name->sun_path) || used <= abstract)
		return 0;
	if (abstract)
		name->sun_path[0] = 0;
	return offsetof(struct sockaddr_un, sun_path) + used + !abstract;
}

static int bind_name(int fd, const struct sockaddr_un *name, socklen_t length)
{
	struct statx status;

	/* A killed process has left its socket file there, at which nobody listens. */
	if (*name->sun_path && connect(fd, (const struct sockaddr *)name, length) && errno == ECONNREFUSED &&
	    !statx(AT_FDCWD, name->sun_path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) && S_ISSOCK(status.stx_mode))
		unlink(name->sun_path);
	/* bind() gives the file the mode of the socket; umask() would change the whole process. */
	if (fchmod(fd, 0600) || bind(fd, (const struct sockaddr *)name, length))
		return -1;
	if (*name->sun_path)
		strcpy(engine->fault_control->socket_path, name->sun_path);
	return listen(fd, 8);
}

static void watch_listener(void *result)
{
	*(int *)result = progress_watch_set(&engine->fault_control->listener, EPOLLIN);
}

/* 0 or a positive errno. */
static int start(const char *setting)
{
	struct sockaddr_un name;
	socklen_t length;
	int fd, result = 0, error;

	length = make_name(setting, &name);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (!length || fd < 0 || bind_name(fd, &name, length)) {
		log_error("SOFTVERBS_FAULT_CONTROL=%s cannot be used (%s): give a path of less than %zu bytes, or @NAME; "
			  "%%p stands for the process id", setting, length ? strerror(errno) : "it is empty or too long",
			  sizeof(name.sun_path));
		if (fd >= 0)
			close(fd);
		return EINVAL;
	}
	engine->fault_control->listener = (struct progress_watch){.fd = fd, .callback = on_client};
	fault_enable();
	error = progress_call(watch_listener, &result);
	return -(error ? error : result);
}

static void start_if_set(void)
{
	const char *setting = secure_getenv("SOFTVERBS_FAULT_CONTROL");

	engine->fault_control->result = setting && *setting ? start(setting) : 0;
}

int fault_control_start(void)
{
	pthread_once(&engine->fault_control->once, start_if_set);
	return engine->fault_control->result;
}
