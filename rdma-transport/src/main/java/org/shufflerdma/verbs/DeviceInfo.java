/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.List;

/**
 * The attributes of a device, as {@code ibv_query_device} reports them.
 *
 * @param maxQpRdAtom the most READs that a queue pair serves at a time
 * @param maxQpInitRdAtom the most READs that a queue pair starts at a time
 * @param ackDelay the longest time that the device takes to acknowledge: exponent n of 4.096 us *
 *     2^n
 * @param odp whether RC READs from on-demand paged regions work
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
