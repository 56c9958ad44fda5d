/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Programs that measure what a device does with registered files, and judge whether the plugin can
 * use it. Nothing of the plugin uses them.
 */
@NullMarked
package org.shufflerdma.hardware;

import org.jspecify.annotations.NullMarked;
