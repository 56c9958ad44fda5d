/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of file regions in the hands of peers. */
#ifndef SOFTDEV_FILE_SHARE_H
#define SOFTDEV_FILE_SHARE_H

#include <stdint.h>

/* Tells the connected peers, soon, to close what they were given for this region. Any thread. */
void file_share_revoke(uint32_t slot, uint64_t generation);

#endif
