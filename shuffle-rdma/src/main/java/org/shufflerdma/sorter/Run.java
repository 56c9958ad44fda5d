/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Records in the order of their keys, of which some at a time are at hand. Its owner is the sorter of one
 * task. Not thread-safe.
 */
abstract class Run {
  Object[] keys;
  Object[] values;

  /** The next record, and the end of those at hand. */
  int next;

  int end;

  Run(Object[] keys, Object[] values) {
    this.keys = keys;
    this.values = values;
  }

  /**
   * Brings records to hand after the last one was taken. Returns false if the run has no more.
   *
   * @throws IOException if a file that holds them cannot be read
   */
  abstract boolean fill() throws IOException;

  /** The records of a chunk in memory, and of the chunks that continue it. */
  static final class InMemory extends Run {
    private @Nullable InMemory following;

    /** Copies {@code count} records in the order of {@code positions}. */
    InMemory(Object[] keys, Object[] values, int[] positions, int count) {
      super(new Object[count], new Object[count]);
      for (int i = 0; i < count; i++) {
        this.keys[i] = keys[positions[i]];
        this.values[i] = values[positions[i]];
      }
      end = count;
    }

    Object firstKey() {
      return keys[0];
    }

    Object lastKey() {
      return keys[keys.length - 1];
    }

    /** Lets this run go on with a chunk none of whose keys is before those of this one. */
    void continueWith(InMemory chunk) {
      following = chunk;
    }

    @Override
    boolean fill() {
      InMemory chunk = following;
      if (chunk == null) {
        return false;
      }
      keys = chunk.keys;
      values = chunk.values;
      next = 0;
      end = chunk.end;
      following = chunk.following;
      return true;
    }
  }
}
