/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include "core.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct softverbs_counters counters;

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
#define FIELD(name) {#name, offsetof(struct softverbs_counters, name)}
	FIELD(pd_live),	       FIELD(pd_ever),
	FIELD(mr_live),	       FIELD(mr_ever),
	FIELD(cq_live),	       FIELD(cq_ever),
	FIELD(qp_live),	       FIELD(qp_ever),
	FIELD(send_wr_posted), FIELD(send_wr_signalled),
	FIELD(reads_file),     FIELD(read_bytes_file),
	FIELD(reads_cma),      FIELD(read_bytes_cma),
	FIELD(reads_wire),     FIELD(read_bytes_wire),
	FIELD(reads_served_wire), FIELD(read_bytes_served_wire),
	FIELD(writes),	       FIELD(write_bytes),
	FIELD(sends),	       FIELD(send_bytes),
	FIELD(connections),    FIELD(fallbacks),
	FIELD(srq_live),       FIELD(atomics),
	FIELD(mw_live),
	FIELD(connections_tcp),
	FIELD(reads_tcp),      FIELD(read_bytes_tcp),
#undef FIELD
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]) };

_Static_assert(FIELD_COUNT * sizeof(uint64_t) == sizeof(struct softverbs_counters), "a field is missing");

static uint64_t load(size_t offset)
{
	return __atomic_load_n((uint64_t *)(void *)((char *)&counters + offset), __ATOMIC_RELAXED);
}

int softverbs_get_counters(struct softverbs_counters *out, size_t size)
{
	if (!out)
		return EINVAL;
	for (unsigned int i = 0; i < FIELD_COUNT; i++)
		if (fields[i].offset + sizeof(uint64_t) <= size)
			*(uint64_t *)(void *)((char *)out + fields[i].offset) = load(fields[i].offset);
	return 0;
}

/* One JSON object on one line, in one write, so that lines of several processes do not mix. */
__attribute__((destructor)) static void write_stats(void)
{
	const char *path = getenv("SOFTVERBS_STATS");
	char line[2048];
	int used, fd;

	if (!path || process_is_forked_child())
		return;
	used = snprintf(line, sizeof(line), "{\"pid\":%d", (int)getpid());
	for (unsigned int i = 0; i < FIELD_COUNT; i++)
		used += snprintf(line + used, sizeof(line) - used, ",\"%s\":%" PRIu64, fields[i].name,
				 load(fields[i].offset));
	used += snprintf(line + used, sizeof(line) - used, "}\n");
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, line, used) != used)
		log_error("SOFTVERBS_STATS=%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}
