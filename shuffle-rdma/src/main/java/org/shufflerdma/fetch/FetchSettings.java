/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

/**
 * Limits of a fetcher.
 *
 * @param threads that connect, wait for buffers and post
 * @param poolWaitMs longest wait for a buffer, after which a block takes another way
 */
public record FetchSettings(int threads, int poolWaitMs) {
  /** Threads that wait for a dead peer must leave some for the others. */
  private static final int MIN_THREADS = 8;

  private static final int MAX_THREADS = 32;
  private static final int POOL_WAIT_MS = 1_000;

  public static FetchSettings forCores(int cores) {
    return new FetchSettings(Math.max(MIN_THREADS, Math.min(MAX_THREADS, cores)), POOL_WAIT_MS);
  }
}
