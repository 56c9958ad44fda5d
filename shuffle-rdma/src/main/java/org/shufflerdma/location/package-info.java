/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where a map output can be read by RDMA: the descriptor in registered memory, the trailer that
 * points to it from Spark's map status, and the endpoint of the executor that owns it. This package
 * alone knows these formats and makes the one reflective write into Spark's status objects.
 */
@NullMarked
package org.shufflerdma.location;

import org.jspecify.annotations.NullMarked;
