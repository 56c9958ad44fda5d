/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A client for Spark's block iterator that fetches blocks by RDMA, and leaves the others to Spark's own client, block by
 * block.
 */
@NullMarked
package org.shufflerdma.client;

import org.jspecify.annotations.NullMarked;
