/* SPDX-License-Identifier: Apache-2.0 */
/** The writer of map outputs, and the choice among Spark's. It knows nothing of RDMA. */
@NullMarked
package org.shufflerdma.writer;

import org.jspecify.annotations.NullMarked;
