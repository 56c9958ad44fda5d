/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Programs that measure what a device does with registered files and test whether the plugin can
 * use it. No other module depends on them.
 */
@NullMarked
package org.shufflerdma.hardware;

import org.jspecify.annotations.NullMarked;
