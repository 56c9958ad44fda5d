/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapstatus;

import org.shufflerdma.location.MapOutputTrailer;

/** The location of one map output for RDMA: its executor, endpoint and trailer. */
public record MapOutputLocation(
    String executorId, PublishedEndpoint endpoint, MapOutputTrailer trailer) {}
