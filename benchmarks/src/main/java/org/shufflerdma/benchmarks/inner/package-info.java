/* SPDX-License-Identifier: Apache-2.0 */
/** The inner loops of the way of a block, each by itself, measured by JMH. */
@NullMarked
package org.shufflerdma.benchmarks.inner;

import org.jspecify.annotations.NullMarked;
