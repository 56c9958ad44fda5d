/* SPDX-License-Identifier: Apache-2.0 */
/** The readers of reduce tasks: what a task reads directly, and what it leaves to Spark's block iterator. */
@NullMarked
package org.shufflerdma.reader;

import org.jspecify.annotations.NullMarked;
