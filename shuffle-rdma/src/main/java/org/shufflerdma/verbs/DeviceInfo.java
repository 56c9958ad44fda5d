/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.List;

/** What {@code ibv_query_device} says. {@code odp}: RC READs from on-demand paged regions work. */
public record DeviceInfo(
    String name,
    long guid,
    int maxQpRdAtom,
    int maxQpWr,
    int maxSge,
    int maxCqe,
    long maxMrSize,
    int maxMr,
    boolean odp,
    List<PortInfo> ports) {}
