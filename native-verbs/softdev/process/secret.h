/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that peers must prove: softverbs_set_secret(), SOFTVERBS_SECRET or SOFTVERBS_SECRET_FILE. */
#ifndef SOFTDEV_SECRET_H
#define SOFTDEV_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0, or EINVAL after a message when the environment names a secret that cannot be used. */
int secret_check(void);
/* Tells whether there is a secret, which can no longer be changed afterwards. */
bool secret_is_set(void);
/* Computes the HMAC-SHA256 of the data under the secret (32 bytes); zeros if there is no secret. */
void secret_sign(const void *data, size_t length, uint8_t out[32]);

#endif
