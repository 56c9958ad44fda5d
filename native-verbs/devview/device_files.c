/* SPDX-License-Identifier: Apache-2.0 */
/* Programs look whether these are character devices that they may open; nothing is behind them. */
#include "devview.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

void show_device_files(void)
{
	static const char *const own[] = {"infiniband", NULL};
	static const char *const names[] = {"softv0", "uverbs0", "rdma_cm"};
	char path[64];

	cover("/dev", own);
	if (mkdir("/dev/infiniband", 0755))
		give_up("/dev/infiniband");
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "/dev/infiniband/%s", names[i]);
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
		if (fd < 0)
			give_up("%s", path);
		close(fd);
		/* A user namespace may not make device nodes, but it may show one in another place. */
		if (mount("/dev/null", path, NULL, MS_BIND, NULL))
			give_up("%s", path);
	}
}
