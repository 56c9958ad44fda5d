/* SPDX-License-Identifier: Apache-2.0 */
/** Deadlines and the worker threads that every waiting part of the transport shares. */
@NullMarked
package org.shufflerdma.concurrent;

import org.jspecify.annotations.NullMarked;
