/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where trailer and endpoint travel in Spark's map statuses. This package alone opens a private
 * field of Spark.
 */
@NullMarked
package org.shufflerdma.mapstatus;

import org.jspecify.annotations.NullMarked;
