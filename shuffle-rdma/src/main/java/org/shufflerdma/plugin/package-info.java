/* SPDX-License-Identifier: Apache-2.0 */
/** The composition root. It creates and connects the objects of the driver and of each executor. */
@NullMarked
package org.shufflerdma.plugin;

import org.jspecify.annotations.NullMarked;
