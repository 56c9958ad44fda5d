/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The RDMA tab of Spark's UI, in the driver and in the history server. Where this Spark's UI is not as it expects, there is no
 * tab, and nothing else is missing.
 */
@NullMarked
package org.shufflerdma.ui;

import org.jspecify.annotations.NullMarked;
