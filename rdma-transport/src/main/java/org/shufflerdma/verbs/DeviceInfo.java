/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.List;

/**
 * What {@code ibv_query_device} says.
 *
 * @param maxQpRdAtom READs that a queue pair serves at a time
 * @param maxQpInitRdAtom READs that a queue pair starts at a time
 * @param ackDelay how long the device takes to acknowledge at most: exponent of 4.096 us
 * @param odp RC READs from on-demand paged regions work
 */
public record DeviceInfo(
    String name,
    long guid,
    int maxQpRdAtom,
    int maxQpInitRdAtom,
    int ackDelay,
    int maxQp,
    int maxQpWr,
    int maxSge,
    int maxCqe,
    long maxMrSize,
    int maxMr,
    boolean odp,
    List<PortInfo> ports) {}
