/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The cluster doctor: an application of Spark whose executors examine their hosts and read from one another, by RDMA and by TCP, in an
 * order that the driver decides. What they do is in {@code hardware}; this package has them take turns.
 */
@NullMarked
package org.shufflerdma.doctor;

import org.jspecify.annotations.NullMarked;
