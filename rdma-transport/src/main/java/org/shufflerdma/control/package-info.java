/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Control connections: framed messages over TCP between processes that prove to one another that they know
 * a secret, all read by one thread.
 */
@NullMarked
package org.shufflerdma.control;

import org.jspecify.annotations.NullMarked;
