/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors of file regions that peers hold. */
#ifndef SOFTDEV_FILE_SHARE_H
#define SOFTDEV_FILE_SHARE_H

/*
 * Tells the connected peers, soon, that a region is no longer what it was, so that they close the descriptors that they
 * got for it. Any thread.
 */
void file_share_revoke(void);

#endif
