/* SPDX-License-Identifier: Apache-2.0 */
/** The choice of a device and of its address, its trial, and how much may be registered on it. */
@NullMarked
package org.shufflerdma.device;

import org.jspecify.annotations.NullMarked;
