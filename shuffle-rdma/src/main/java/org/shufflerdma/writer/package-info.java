/* SPDX-License-Identifier: Apache-2.0 */
/** The writer of map outputs, and which shuffles it writes. It knows nothing of RDMA. */
@NullMarked
package org.shufflerdma.writer;

import org.jspecify.annotations.NullMarked;
