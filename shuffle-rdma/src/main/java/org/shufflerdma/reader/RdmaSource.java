/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.concurrent.Executor;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.location.LocationTable;

/**
 * What an executor's readers need to read by RDMA.
 *
 * @param fallbackExecutor for calls of Spark's client that may take time to connect
 */
public record RdmaSource(
    BlockFetcher fetcher, LocationTable locations, Executor fallbackExecutor) {}
