/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "core.h"

#include "process/cancel.h"
#include "process/progress.h"
#include "softverbs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

static pthread_once_t nonce_once = PTHREAD_ONCE_INIT;
static uint8_t nonce[16];
static struct softverbs_succession succession = {.lock = PTHREAD_MUTEX_INITIALIZER};

void random_bytes(void *out, size_t length)
{
	int cancel = cancel_put_off();
	size_t done = 0;

	while (done < length) {
		ssize_t got = getrandom((char *)out + done, length - done, 0);

		if (got > 0)
			done += got;
		else if (errno != EINTR)
			abort();
	}
	cancel_restore(cancel);
}

static void in_forked_child(void)
{
	succession.orphaned = true;
	progress_after_fork_in_child();
}

static void create_nonce(void)
{
	random_bytes(nonce, sizeof(nonce));
	pthread_atfork(progress_before_fork, progress_after_fork_in_parent, in_forked_child);
}

const uint8_t *process_nonce(void)
{
	pthread_once(&nonce_once, create_nonce);
	return nonce;
}

bool process_is_forked_child(void)
{
	return succession.orphaned;
}

struct softverbs_succession *softverbs_succession(void)
{
	return &succession;
}
