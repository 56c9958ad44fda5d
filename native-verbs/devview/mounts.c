/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "devview.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		give_up("%s", path);
	close(fd);
}

static void enter_user_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		give_up("this system lets only root make mount namespaces (run it as root, or allow user namespaces: "
			"sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, "
			"kernel.apparmor_restrict_unprivileged_userns)");
	write_map("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	write_map("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	write_map("/proc/self/gid_map", map);
}

void enter_private_namespace(void)
{
	if (unshare(CLONE_NEWNS))
		enter_user_namespace();
	/* What others mount later still arrives here, and nothing that is mounted here gets out. */
	if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
		give_up("cannot make mounts private");
}

static bool is_listed(const char *name, const char *const *list)
{
	while (*list)
		if (!strcmp(name, *list++))
			return true;
	return false;
}

static void copy_link(int old, const char *name, const char *target)
{
	char text[PATH_MAX];
	ssize_t length = readlinkat(old, name, text, sizeof(text) - 1);

	if (length < 0)
		return;
	text[length] = 0;
	if (symlink(text, target))
		give_up("%s", target);
}

/* An entry that vanishes meanwhile, or that may not be seen, is left out. */
static void show_entry(int old, const char *folder, const char *name)
{
	char source[PATH_MAX], target[PATH_MAX];
	struct stat status;
	int fd;

	if (fstatat(old, name, &status, AT_SYMLINK_NOFOLLOW))
		return;
	snprintf(source, sizeof(source), "/proc/self/fd/%d/%s", old, name);
	snprintf(target, sizeof(target), "%s/%s", folder, name);
	if (S_ISLNK(status.st_mode)) {
		copy_link(old, name, target);
		return;
	}
	if (S_ISDIR(status.st_mode)) {
		if (mkdir(target, 0755))
			give_up("%s", target);
	} else {
		fd = open(target, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
		if (fd < 0)
			give_up("%s", target);
		close(fd);
	}
	if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) && errno != ENOENT && errno != EACCES)
		give_up("cannot show %s", target);
}

void cover(const char *folder, const char *const *hide)
{
	int old = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *list;

	if (old < 0)
		give_up("%s", folder);
	if (mount("softverbs", folder, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755"))
		give_up("cannot mount a tmpfs on %s", folder);
	list = fdopendir(dup(old));
	if (!list)
		give_up("%s", folder);
	while ((entry = readdir(list)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && !is_listed(entry->d_name, hide))
			show_entry(old, folder, entry->d_name);
	closedir(list);
	close(old);
}
