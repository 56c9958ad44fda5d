/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import java.util.Comparator;

/**
 * A stable merge sort of the positions of keys. Positions are moved instead of references, because the
 * collector follows each reference that is written to an array. Keeps its arrays for the next sort. Not
 * thread-safe.
 */
final class ChunkSort {
  /** Pieces of this many keys are sorted by insertion, and then merged. */
  private static final int PIECE = 6;

  private final Comparator<Object> ordering;
  private int[] positions = new int[0];
  private int[] spare = new int[0];

  /** @param ordering may throw, and may contradict itself; no position is lost then */
  ChunkSort(Comparator<Object> ordering) {
    this.ordering = ordering;
  }

  /**
   * Returns the positions of the first {@code count} keys in ascending order of their keys, and those of
   * equal keys in ascending order. The array belongs to this object, and is valid until the next call.
   */
  int[] sort(Object[] keys, int count) {
    if (positions.length < count) {
      positions = new int[keys.length];
      spare = new int[keys.length];
    }
    for (int i = 0; i < count; i++) {
      positions[i] = i;
    }
    if (isSorted(keys, count)) {
      return positions;
    }
    for (int start = 0; start < count; start += PIECE) {
      insert(keys, start, Math.min(start + PIECE, count));
    }
    for (int width = PIECE; width < count; width *= 2) {
      for (int start = 0; start < count; start += 2 * width) {
        merge(keys, start, Math.min(start + width, count), Math.min(start + 2 * width, count));
      }
      int[] merged = spare;
      spare = positions;
      positions = merged;
    }
    return positions;
  }

  private boolean isSorted(Object[] keys, int count) {
    for (int i = 1; i < count; i++) {
      if (ordering.compare(keys[i - 1], keys[i]) > 0) {
        return false;
      }
    }
    return true;
  }

  private void insert(Object[] keys, int start, int end) {
    for (int i = start + 1; i < end; i++) {
      int position = positions[i];
      Object key = keys[position];
      int hole = i;
      while (hole > start && ordering.compare(keys[positions[hole - 1]], key) > 0) {
        positions[hole] = positions[hole - 1];
        hole--;
      }
      positions[hole] = position;
    }
  }

  /** Merges two neighbouring pieces of {@link #positions} into {@link #spare}. */
  private void merge(Object[] keys, int start, int middle, int end) {
    if (middle == end
        || ordering.compare(keys[positions[middle - 1]], keys[positions[middle]]) <= 0) {
      System.arraycopy(positions, start, spare, start, end - start);
      return;
    }
    int left = start;
    int right = middle;
    int to = start;
    Object leftKey = keys[positions[left]];
    Object rightKey = keys[positions[right]];
    while (true) {
      if (ordering.compare(leftKey, rightKey) <= 0) {
        spare[to++] = positions[left++];
        if (left == middle) {
          System.arraycopy(positions, right, spare, to, end - right);
          return;
        }
        leftKey = keys[positions[left]];
      } else {
        spare[to++] = positions[right++];
        if (right == end) {
          System.arraycopy(positions, left, spare, to, middle - left);
          return;
        }
        rightKey = keys[positions[right]];
      }
    }
  }
}
