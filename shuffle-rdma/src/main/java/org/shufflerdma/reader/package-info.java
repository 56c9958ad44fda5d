/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The reduce side: Spark's own block iterator over a client that fetches by RDMA and falls back to
 * Spark's client block by block.
 */
@NullMarked
package org.shufflerdma.reader;

import org.jspecify.annotations.NullMarked;
