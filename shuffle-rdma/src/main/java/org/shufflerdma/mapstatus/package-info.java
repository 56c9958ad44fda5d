/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writes the trailer and the endpoint into Spark's map statuses and reads them back. No other package
 * accesses a private field of Spark.
 */
@NullMarked
package org.shufflerdma.mapstatus;

import org.jspecify.annotations.NullMarked;
