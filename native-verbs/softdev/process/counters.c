/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/counters.h"

#include "engine.h"
#include "process/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ENGINE_PART(counters, NULL);

/* By their place in the struct. */
static const char *const names[] = {
#define FIELD(name) [offsetof(struct softverbs_counters, name) / sizeof(uint64_t)] = #name
	FIELD(pd_live), FIELD(pd_ever), FIELD(mr_live), FIELD(mr_ever), FIELD(cq_live), FIELD(cq_ever), FIELD(qp_live),
	FIELD(qp_ever), FIELD(send_wr_posted), FIELD(send_wr_signalled), FIELD(reads_file), FIELD(read_bytes_file),
	FIELD(reads_cma), FIELD(read_bytes_cma), FIELD(reads_wire), FIELD(read_bytes_wire), FIELD(reads_served_wire),
	FIELD(read_bytes_served_wire), FIELD(writes), FIELD(write_bytes), FIELD(sends), FIELD(send_bytes),
	FIELD(connections), FIELD(fallbacks), FIELD(srq_live), FIELD(atomics), FIELD(mw_live), FIELD(connections_tcp),
	FIELD(reads_tcp), FIELD(read_bytes_tcp),
#undef FIELD
};

enum { FIELDS = sizeof(names) / sizeof(names[0]) };

_Static_assert(FIELDS * sizeof(uint64_t) == sizeof(struct softverbs_counters), "a field is missing");

static uint64_t total(unsigned int field)
{
	return __atomic_load_n((uint64_t *)&engine->counters->totals + field, __ATOMIC_RELAXED);
}

int softverbs_get_counters(struct softverbs_counters *out, size_t size)
{
	if (!out || engine_check())
		return out ? ENOMEM : EINVAL;
	for (unsigned int i = 0; i < FIELDS && i < size / sizeof(uint64_t); i++)
		((uint64_t *)out)[i] = total(i);
	return 0;
}

/* The line is written by one call, so that the lines of several processes do not mix. */
__attribute__((destructor)) static void write_stats(void)
{
	const char *path = secure_getenv("SOFTVERBS_STATS");
	char line[2048];
	int fd, used = snprintf(line, sizeof(line), "{\"pid\":%d", (int)getpid());

	if (!path || !engine || (engine->inherited && !COUNTED(pd_ever)))
		return; /* nobody asks, or it is the child of a fork that never used the device */
	for (unsigned int i = 0; i < FIELDS; i++)
		used += snprintf(line + used, sizeof(line) - used, ",\"%s\":%" PRIu64, names[i], total(i));
	used += snprintf(line + used, sizeof(line) - used, "}\n");
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, line, used) != used)
		log_error("SOFTVERBS_STATS=%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}
