/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Map outputs that are not registered: their owner reads them on request into memory that is, from which
 * the reader READs them. Requests and replies go over a TCP connection of their own, the control
 * connection.
 */
@NullMarked
package org.shufflerdma.staging;

import org.jspecify.annotations.NullMarked;
