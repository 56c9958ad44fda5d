/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapstatus;

import org.shufflerdma.location.MapOutputTrailer;

/** Where one map output can be read by RDMA, and which executor's memory that is. */
public record MapOutputLocation(
    String executorId, PublishedEndpoint endpoint, MapOutputTrailer trailer) {}
