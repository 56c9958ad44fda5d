/* SPDX-License-Identifier: Apache-2.0 */
/** The message authentication code that handshake, seals and derived keys share. A leaf. */
@NullMarked
package org.shufflerdma.crypto;

import org.jspecify.annotations.NullMarked;
