/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of file regions in the hands of peers. */
#ifndef SOFTDEV_FILE_SHARE_H
#define SOFTDEV_FILE_SHARE_H

/* Tells the connected peers, soon, that a region is not what it was: they close what they were given for it. Any thread. */
void file_share_revoke(void);

#endif
