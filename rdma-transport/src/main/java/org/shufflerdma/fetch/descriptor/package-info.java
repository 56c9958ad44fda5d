/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a reader knows of map outputs: where their descriptors are, what these have said of partitions, and whether
 * the bytes of a block have the checksums that they name. Nothing in here waits.
 */
@NullMarked
package org.shufflerdma.fetch.descriptor;

import org.jspecify.annotations.NullMarked;
