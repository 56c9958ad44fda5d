/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The settings under {@code spark.shuffle.rdma.}, each declared once. This package does not depend
 * on Spark.
 */
@NullMarked
package org.shufflerdma.config;

import org.jspecify.annotations.NullMarked;
