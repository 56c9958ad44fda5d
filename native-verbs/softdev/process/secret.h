/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that peers must prove: softverbs_set_secret(), SOFTVERBS_SECRET or SOFTVERBS_SECRET_FILE. */
#ifndef SOFTDEV_SECRET_H
#define SOFTDEV_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0, or EINVAL after a message when the environment names a secret that cannot be used. */
int secret_check(void);
/* Uses the secret from here on, so that it can no longer be changed. */
bool secret_is_set(void);
/* HMAC-SHA256 of the data under the secret (32 bytes); zeros when there is none. */
void secret_sign(const void *data, size_t length, uint8_t out[32]);

#endif
