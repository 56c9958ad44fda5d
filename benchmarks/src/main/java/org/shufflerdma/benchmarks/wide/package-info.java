/* SPDX-License-Identifier: Apache-2.0 */
/**
 * As many owners and readers as a wide cluster has, in a few processes, each with a transport, an endpoint, staging
 * and map outputs of its own. {@link org.shufflerdma.benchmarks.wide.WideBench} starts processes of {@link
 * org.shufflerdma.benchmarks.wide.WideNodes}, and has their readers read at the same time.
 */
@NullMarked
package org.shufflerdma.benchmarks.wide;

import org.jspecify.annotations.NullMarked;
