/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fetches blocks of remote map outputs by RDMA READ: it reads descriptors, plans READs, verifies the
 * bytes, and delivers each block exactly once. A failure is reported with its reason, so that the
 * caller can fetch the block another way.
 */
@NullMarked
package org.shufflerdma.fetch;

import org.jspecify.annotations.NullMarked;
