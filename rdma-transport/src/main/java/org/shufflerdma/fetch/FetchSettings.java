/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

/**
 * Limits of a fetcher.
 *
 * @param threads number of threads that read for Spark's iterator, a quarter of them from one peer; as many again make control connections
 * @param poolWaitMs longest wait for a buffer, after which a block takes another way
 * @param leaseMs time after reading a descriptor in which it is relied upon; must be shorter than
 *     the time for which owners keep withdrawn outputs registered
 */
public record FetchSettings(int threads, int poolWaitMs, int leaseMs) {
  /** Threads wait more than they compute, so there may be more of them than cores. */
  private static final int MIN_THREADS = 16;

  private static final int MAX_THREADS = 64;
  private static final int POOL_WAIT_MS = 1_000;

  /** A shorter lease would end before the READs of a busy executor could be posted. */
  private static final int MIN_LEASE_MS = 10;

  public FetchSettings {
    if (leaseMs <= 0) {
      throw new IllegalArgumentException(
          "no READ can be posted within a lease of " + leaseMs + " ms");
    }
  }

  /**
   * Returns the settings for an executor.
   *
   * @param cores number of cores of the executor
   * @param withdrawGraceMs the owners' grace time. Half of it is the lease; the other half remains for
   *     READs that were posted at the end of the lease
   */
  public static FetchSettings of(int cores, int withdrawGraceMs) {
    return new FetchSettings(
        Math.max(MIN_THREADS, Math.min(MAX_THREADS, cores)),
        POOL_WAIT_MS,
        Math.max(MIN_LEASE_MS, withdrawGraceMs / 2));
  }
}
