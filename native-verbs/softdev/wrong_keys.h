/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers that guess keys. Each wrong key costs the guesser its connection; after WRONG_KEYS_PER_MINUTE of them
 * its new connections are refused until the minute is over. Progress thread only.
 */
#ifndef SOFTDEV_WRONG_KEYS_H
#define SOFTDEV_WRONG_KEYS_H

#include <stdbool.h>
#include <stdint.h>

enum { WRONG_KEYS_PER_MINUTE = 256 };

/* `nonce` is the boot nonce of the peer process. */
void wrong_keys_count(const uint8_t *nonce);
bool wrong_keys_exceeded(const uint8_t *nonce);

#endif
