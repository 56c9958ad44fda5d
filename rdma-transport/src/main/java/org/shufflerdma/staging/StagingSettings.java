/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

/**
 * Limits of a staging server.
 *
 * @param budgetBytes most bytes registered for readers at any time; 0 serves none
 * @param loanBytes that one request is lent at most
 * @param slabBytes that are registered at a time; at least as many
 * @param requestsPerReader that may be under way at a time, until their loans are returned
 * @param threads that read files
 * @param connectTimeoutMs for the proof of a new control connection
 * @param idleMs without use after which memory and a control connection are given up
 * @param leaseMs from the reply to a request until its loan ends even if the reader does not return it; READs
 *     that the reader posts in the first half of it may finish in the other one
 */
public record StagingSettings(
    long budgetBytes,
    int loanBytes,
    int slabBytes,
    int requestsPerReader,
    int threads,
    int connectTimeoutMs,
    int idleMs,
    int leaseMs) {
  private static final int LOAN_BYTES = 512 << 10;
  private static final int LEAST_LOAN_BYTES = 64 << 10;
  private static final int SLAB_BYTES = 4 << 20;

  /** A budget has room for so many loans, so that it serves some readers at a time even if it is small. */
  private static final int LOANS = 8;

  private static final int SLABS = 4;
  private static final int MOST_REQUESTS = 32;
  private static final int LEAST_REQUESTS = 2;
  private static final int IDLE_MS = 10_000;
  private static final int MIN_THREADS = 4;
  private static final int MAX_THREADS = 16;

  public StagingSettings {
    if (budgetBytes < 0
        || loanBytes <= 0
        || slabBytes < loanBytes
        || requestsPerReader <= 0
        || requestsPerReader > StagingTerms.MAX_REQUESTS
        || threads <= 0) {
      throw new IllegalArgumentException(
          "%d bytes in slabs of %d bytes, loans of %d bytes, %d for each reader, and %d threads"
              .formatted(budgetBytes, slabBytes, loanBytes, requestsPerReader, threads));
    }
  }

  /** Returns the settings that fit a budget. One connection takes up at most a half of it, unless it is below 256 KiB. */
  public static StagingSettings of(long budgetBytes, int cores, int connectTimeoutMs, int graceMs) {
    int loanBytes = LOAN_BYTES;
    while ((long) loanBytes * LOANS > budgetBytes && loanBytes > LEAST_LOAN_BYTES) {
      loanBytes /= 2;
    }
    int slabBytes = SLAB_BYTES;
    while ((long) slabBytes * SLABS > budgetBytes && slabBytes > loanBytes) {
      slabBytes /= 2;
    }
    int requests =
        (int) Math.max(LEAST_REQUESTS, Math.min(MOST_REQUESTS, budgetBytes / 2 / loanBytes));
    int threads = Math.max(MIN_THREADS, Math.min(MAX_THREADS, cores));
    return new StagingSettings(
        budgetBytes,
        loanBytes,
        slabBytes,
        requests,
        threads,
        connectTimeoutMs,
        IDLE_MS,
        Math.max(StagingTerms.LEAST_LEASE_MS, graceMs));
  }

  StagingTerms terms() {
    return new StagingTerms(loanBytes, requestsPerReader, leaseMs);
  }
}
