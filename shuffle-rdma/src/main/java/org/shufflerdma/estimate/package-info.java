/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Estimates from Spark's event logs what an application could gain at most. It runs on a host that has nothing but the
 * plugin's jar, so it sees neither Spark nor a device.
 */
@NullMarked
package org.shufflerdma.estimate;

import org.jspecify.annotations.NullMarked;
