/* SPDX-License-Identifier: Apache-2.0 */
/**
 * RDMA under a shuffle manager that is not the plugin's: a client in front of that of the block manager, and the endpoints of the
 * executors, which the driver tells.
 */
@NullMarked
package org.shufflerdma.beneath;

import org.jspecify.annotations.NullMarked;
