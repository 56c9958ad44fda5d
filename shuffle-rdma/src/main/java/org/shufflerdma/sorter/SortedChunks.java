/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The records in memory as they arrive, in chunks, each of which is sorted when it is full. Its owner is
 * the sorter of one task, until all records have arrived. Not thread-safe.
 */
final class SortedChunks {
  /** The keys of a chunk, and what they refer to, should fit the second level of the cache. */
  private static final int CHUNK_RECORDS = 16_384;

  private static final int FIRST_CHUNK_RECORDS = 256;

  private final Comparator<Object> ordering;
  private final ChunkSort chunkSort;
  private final RecordSizes sizes = new RecordSizes();

  /** The chunk that is being filled. */
  private Object[] keys = new Object[FIRST_CHUNK_RECORDS];

  private Object[] values = new Object[FIRST_CHUNK_RECORDS];
  private int count;

  /** The sorted chunks, some of which continue the one before, and the one that was sorted last. */
  private List<Run.InMemory> chunks = new ArrayList<>();

  private Run.@Nullable InMemory lastChunk;

  private long records;

  SortedChunks(Comparator<Object> ordering) {
    this.ordering = ordering;
    this.chunkSort = new ChunkSort(ordering);
  }

  /** @param serializedBytes the bytes that were read for the record; 0 if that is not known */
  void add(Object key, Object value, long serializedBytes) {
    if (count == keys.length) {
      if (count == CHUNK_RECORDS) {
        endChunk();
      } else {
        keys = Arrays.copyOf(keys, 2 * count);
        values = Arrays.copyOf(values, 2 * count);
      }
    }
    keys[count] = key;
    values[count] = value;
    count++;
    records++;
    sizes.add(key, value, serializedBytes);
  }

  private void endChunk() {
    if (count == 0) {
      return;
    }
    Run.InMemory chunk = new Run.InMemory(keys, values, chunkSort.sort(keys, count), count);
    if (lastChunk != null && ordering.compare(lastChunk.lastKey(), chunk.firstKey()) <= 0) {
      lastChunk.continueWith(chunk);
    } else {
      chunks.add(chunk);
    }
    lastChunk = chunk;
    count = 0;
  }

  /** The records in memory. */
  long records() {
    return records;
  }

  /** The bytes that they are estimated to take. */
  long bytes() {
    return sizes.bytes();
  }

  /** Returns the largest estimate of a record that has arrived so far; 0 if there was none. */
  long largestBytesOfOne() {
    return sizes.largestBytesOfOne();
  }

  /** Takes out all records, in runs. The arrays of the last chunk still refer to its records, and go, too. */
  List<Run.InMemory> take() {
    endChunk();
    List<Run.InMemory> taken = chunks;
    chunks = new ArrayList<>();
    lastChunk = null;
    keys = new Object[FIRST_CHUNK_RECORDS];
    values = new Object[FIRST_CHUNK_RECORDS];
    records = 0;
    sizes.startOver();
    return taken;
  }
}
