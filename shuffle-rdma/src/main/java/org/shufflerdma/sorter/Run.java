/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import java.io.IOException;

/**
 * Records in the order of their keys, some of which are at hand at a time. Its owner is the sorter of one
 * task. Not thread-safe.
 */
abstract class Run {
  final Object[] keys;
  final Object[] values;

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

  /** Records in memory, all of which are at hand. */
  static final class InMemory extends Run {
    /** Copies {@code count} records in the order of {@code positions}. */
    InMemory(Object[] keys, Object[] values, int[] positions, int count) {
      super(new Object[count], new Object[count]);
      for (int i = 0; i < count; i++) {
        this.keys[i] = keys[positions[i]];
        this.values[i] = values[positions[i]];
      }
      end = count;
    }

    @Override
    boolean fill() {
      return false;
    }
  }
}
