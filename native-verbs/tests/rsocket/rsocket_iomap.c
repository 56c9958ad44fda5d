/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that was mapped for the peer is written at its offset; what is outside, or mapped no more, is not. */
#include <sys/mman.h>

#include "rsocket_fixture.h"

enum { MAP_BYTES = 100000, MAP_OFFSET = 4096, MAPS = 16 };

static char mapped[MAP_BYTES], source[MAP_BYTES];

/* As many mappings as there may be, and all of their messages under way; then the first goes. */
static void one_of_many_is_gone(void)
{
	char byte;
	int ends[2];

	rs_pair(ends);
	for (int i = 0; i < MAPS; i++)
		CHECK_EQUAL(softverbs_riomap(ends[0], mapped + i, 1, PROT_WRITE, 0, i), i);
	CHECK(!softverbs_riounmap(ends[0], mapped, 1));
	CHECK_EQUAL(softverbs_riounmap(ends[0], mapped, 1), -1);
	CHECK_EQUAL(softverbs_riomap(ends[0], mapped + MAPS, 1, PROT_WRITE, 0, MAPS), MAPS);
	CHECK_EQUAL(softverbs_rsend(ends[0], "x", 1, 0), 1);
	CHECK_EQUAL(softverbs_rrecv(ends[1], &byte, 1, 0), 1);
	CHECK_EQUAL(softverbs_riowrite(ends[1], source, 1, 0, 0), -1);
	CHECK_EQUAL(errno, EINVAL);
	CHECK_EQUAL(softverbs_riowrite(ends[1], source, MAPS, 1, 0), MAPS);
	CHECK_EQUAL(softverbs_rsend(ends[1], "y", 1, 0), 1);
	CHECK_EQUAL(softverbs_rrecv(ends[0], &byte, 1, 0), 1);
	CHECK(mapped[0] != source[0] && !memcmp(mapped + 1, source, MAPS));
	CHECK(!softverbs_rclose(ends[0]));
	CHECK(!softverbs_rclose(ends[1]));
}

int main(void)
{
	char byte;
	int ends[2];

	alarm(TEST_SECONDS);
	memset(source, 7, sizeof(source));
	one_of_many_is_gone();
	memset(mapped, 0, sizeof(mapped));
	rs_pair(ends);
	CHECK_EQUAL(softverbs_riomap(ends[0], mapped, sizeof(mapped), PROT_WRITE, 0, MAP_OFFSET), MAP_OFFSET);
	/* The mapping travels with the stream. */
	CHECK_EQUAL(softverbs_rsend(ends[0], "x", 1, 0), 1);
	CHECK_EQUAL(softverbs_rrecv(ends[1], &byte, 1, 0), 1);
	CHECK_EQUAL(softverbs_riowrite(ends[1], source, MAP_BYTES - 1, MAP_OFFSET, 0), MAP_BYTES - 1);
	CHECK_EQUAL(softverbs_rsend(ends[1], "y", 1, 0), 1);
	CHECK_EQUAL(softverbs_rrecv(ends[0], &byte, 1, 0), 1);
	CHECK(!memcmp(mapped, source, MAP_BYTES - 1));
	CHECK_EQUAL(mapped[MAP_BYTES - 1], 0);
	CHECK_EQUAL(softverbs_riowrite(ends[1], source, 1, MAP_OFFSET + MAP_BYTES, 0), -1);
	CHECK_EQUAL(errno, EINVAL);
	CHECK(!softverbs_riounmap(ends[0], mapped, sizeof(mapped)));
	CHECK_EQUAL(softverbs_rsend(ends[0], "x", 1, 0), 1);
	CHECK_EQUAL(softverbs_rrecv(ends[1], &byte, 1, 0), 1);
	CHECK_EQUAL(softverbs_riowrite(ends[1], source, 1, MAP_OFFSET, 0), -1);
	CHECK_EQUAL(errno, EINVAL);
	CHECK(!softverbs_rclose(ends[0]));
	CHECK(!softverbs_rclose(ends[1]));
	return 0;
}
