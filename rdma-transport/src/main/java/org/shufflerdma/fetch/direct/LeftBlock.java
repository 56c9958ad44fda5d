/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import org.shufflerdma.metrics.TcpReason;

/** A block that a {@link DirectFetch} could not read, and why. */
public record LeftBlock(PeerBlocks peer, int block, TcpReason reason, Throwable cause) {}
