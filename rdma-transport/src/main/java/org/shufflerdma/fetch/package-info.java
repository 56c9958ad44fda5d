/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Blocks of remote map outputs, fetched by RDMA READ: descriptors, plans, verification, and
 * delivery exactly once. What fails here is reported with its reason, so that the caller can take
 * another way.
 */
@NullMarked
package org.shufflerdma.fetch;

import org.jspecify.annotations.NullMarked;
