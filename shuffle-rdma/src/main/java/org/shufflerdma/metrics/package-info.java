/* SPDX-License-Identifier: Apache-2.0 */
/** What is counted, under which names, per task and per executor. A leaf: no Spark in it. */
@NullMarked
package org.shufflerdma.metrics;

import org.jspecify.annotations.NullMarked;
