/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

/**
 * Limits of a staging server.
 *
 * @param budgetBytes most bytes registered for readers at any time; 0 serves none
 * @param chunkBytes what one request is staged in; a multiple of the page size
 * @param chunksPerReader how many requests of one reading process may be staged at a time
 * @param threads that read files
 * @param connectTimeoutMs for the proof of a new control connection
 * @param idleMs without a request after which a reader's memory is given back
 * @param graceMs between the end of a control connection and the deregistration of its memory, in which
 *     READs under way may finish
 */
public record StagingSettings(
    long budgetBytes,
    int chunkBytes,
    int chunksPerReader,
    int threads,
    int connectTimeoutMs,
    int idleMs,
    int graceMs) {
  private static final int CHUNK_BYTES = 512 << 10;
  private static final int LEAST_CHUNK_BYTES = 64 << 10;
  private static final int CHUNKS = 8;
  private static final int READERS = 4;
  private static final int IDLE_MS = 10_000;
  private static final int MIN_THREADS = 4;
  private static final int MAX_THREADS = 16;

  public StagingSettings {
    if (budgetBytes < 0 || chunkBytes <= 0 || chunksPerReader <= 0 || threads <= 0) {
      throw new IllegalArgumentException(
          "%d bytes in chunks of %d bytes, %d for each reader, and %d threads"
              .formatted(budgetBytes, chunkBytes, chunksPerReader, threads));
    }
  }

  /** Returns the settings that fit a budget, which serves some readers at a time even if it is small. */
  public static StagingSettings of(long budgetBytes, int cores, int connectTimeoutMs, int graceMs) {
    int chunkBytes = CHUNK_BYTES;
    int chunks = CHUNKS;
    while ((long) chunkBytes * chunks * READERS > budgetBytes && chunkBytes > LEAST_CHUNK_BYTES) {
      if (chunks > 2) {
        chunks /= 2;
      } else {
        chunkBytes /= 2;
      }
    }
    int threads = Math.max(MIN_THREADS, Math.min(MAX_THREADS, cores));
    return new StagingSettings(
        budgetBytes, chunkBytes, chunks, threads, connectTimeoutMs, IDLE_MS, graceMs);
  }

  long bytesPerReader() {
    return (long) chunkBytes * chunksPerReader;
  }
}
