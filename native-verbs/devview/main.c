/* SPDX-License-Identifier: Apache-2.0 */
/* softverbs-dev COMMAND...: becomes COMMAND in a mount namespace where the device has files in /dev and /sys. */
#include "devview.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void give_up(const char *format, ...)
{
	const char *cause = strerror(errno);
	va_list arguments;

	fputs("softverbs: --dev: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, ": %s\n", cause);
	exit(2);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: softverbs-dev COMMAND [ARGUMENT...]\n", stderr);
		return 2;
	}
	enter_private_namespace();
	show_class_files();
	show_device_files();
	execvp(argv[1], argv + 1);
	fprintf(stderr, "softverbs: %s: %s\n", argv[1], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
