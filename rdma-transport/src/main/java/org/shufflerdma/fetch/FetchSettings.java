/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

/**
 * Limits of a fetcher.
 *
 * @param threads that connect, wait for buffers and post
 * @param poolWaitMs longest wait for a buffer, after which a block takes another way
 * @param leaseMs how long after it was read a descriptor is relied upon; less than the time for
 *     which owners keep what they have withdrawn
 */
public record FetchSettings(int threads, int poolWaitMs, int leaseMs) {
  /** They wait more than they work. */
  private static final int MIN_THREADS = 8;

  private static final int MAX_THREADS = 32;
  private static final int POOL_WAIT_MS = 1_000;

  /** A shorter lease would end before the READs of a busy executor could be posted. */
  private static final int MIN_LEASE_MS = 10;

  public FetchSettings {
    if (leaseMs <= 0) {
      throw new IllegalArgumentException("a lease of " + leaseMs + " ms lets nothing be read");
    }
  }

  /**
   * For an executor of so many cores.
   *
   * @param withdrawGraceMs of the owners: half of it is the lease, the other half is left to READs
   *     that were posted at its end
   */
  public static FetchSettings of(int cores, int withdrawGraceMs) {
    return new FetchSettings(
        Math.max(MIN_THREADS, Math.min(MAX_THREADS, cores)),
        POOL_WAIT_MS,
        Math.max(MIN_LEASE_MS, withdrawGraceMs / 2));
  }
}
