/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "core.h"

#include "engine.h"
#include "process/cancel.h"
#include "process/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct process_state {
	pthread_once_t once;
	uint8_t nonce[PROCESS_NONCE_BYTES];
};

ENGINE_PART(process, NULL);

int random_check(void)
{
	int cancel = cancel_put_off();
	uint8_t byte;
	bool works = getrandom(&byte, sizeof(byte), 0) == sizeof(byte);

	cancel_restore(cancel);
	if (works)
		return 0;
	log_error("the kernel gives no random numbers for keys (getrandom: %s): allow this process that system call", strerror(errno));
	return EIO;
}

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

static void create_nonce(void)
{
	random_bytes(engine->process->nonce, sizeof(engine->process->nonce));
}

const uint8_t *process_nonce(void)
{
	pthread_once(&engine->process->once, create_nonce);
	return engine->process->nonce;
}
