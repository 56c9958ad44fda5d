/* SPDX-License-Identifier: Apache-2.0 */
/** The settings under {@code spark.shuffle.rdma.}, each declared once. A leaf: no Spark in it. */
@NullMarked
package org.shufflerdma.config;

import org.jspecify.annotations.NullMarked;
