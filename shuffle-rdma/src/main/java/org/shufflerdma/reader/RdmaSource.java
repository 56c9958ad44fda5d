/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.mapstatus.LocationTable;

/** The objects that an executor's readers need to read by RDMA. */
public record RdmaSource(
    BlockFetcher fetcher, LocationTable locations, FallbackThreads fallbackThreads) {}
