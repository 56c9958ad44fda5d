/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Those who have blocks fetched from peers by RDMA READ: in their own thread, or in the background with a listener. Each block is
 * delivered once, with verified bytes, or reported with the reason why not, so that the caller can fetch it another way.
 */
@NullMarked
package org.shufflerdma.fetch;

import org.jspecify.annotations.NullMarked;
