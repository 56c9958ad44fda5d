/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits peers that guess keys. Each wrong key costs the guesser its connection; after WRONG_KEYS_PER_MINUTE of them,
 * its new connections are refused until the minute is over. Progress thread only.
 */
#ifndef SOFTDEV_WRONG_KEYS_H
#define SOFTDEV_WRONG_KEYS_H

#include "link/link.h"

#include <stdbool.h>

enum { WRONG_KEYS_PER_MINUTE = 256 };

/* A peer is identified by what the kernel reports: a process of this host, or an address. */
void wrong_keys_count(const struct link *link);
bool wrong_keys_exceeded(const struct link *link);

#endif
