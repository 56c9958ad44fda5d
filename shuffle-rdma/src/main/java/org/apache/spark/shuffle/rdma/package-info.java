/* SPDX-License-Identifier: Apache-2.0 */
/** The class that users name in {@code spark.shuffle.manager}. */
@NullMarked
package org.apache.spark.shuffle.rdma;

import org.jspecify.annotations.NullMarked;
