/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Merges runs with a loser tree (Knuth, The Art of Computer Programming, volume 3, 5.4.1), which
 * compares each record with one other for each level. Records with equal keys come in the order of their
 * runs. Not thread-safe.
 */
final class RunMerge {
  private final Comparator<Object> ordering;

  /** The runs that have records left. */
  private final List<Run> left;

  private Run[] runs = {};

  /** The key of each run's next record. */
  private Object[] keys = {};

  /**
   * An inner node has the run that lost there. The children of node n are the nodes 2n and 2n + 1, and the
   * leaf of run i is the node {@code runs.length + i}.
   */
  private int[] losers = {};

  private int winner;

  /**
   * @param runs in the order of their records' arrival; they belong to the merge from here on
   * @throws IOException if a run cannot be read
   */
  RunMerge(Comparator<Object> ordering, List<? extends Run> runs) throws IOException {
    this.ordering = ordering;
    this.left = new ArrayList<>(runs);
    for (Run run : runs) {
      if (run.next == run.end && !run.fill()) {
        left.remove(run);
      }
    }
    build();
  }

  /** The runs that have records left, from which another merge may go on. */
  List<Run> left() {
    return left;
  }

  /**
   * Takes as many records as there are, up to {@code toKeys.length}, and returns their number.
   *
   * @throws IOException if a run cannot be read
   */
  int take(Object[] toKeys, Object[] toValues) throws IOException {
    int count = 0;
    while (count < toKeys.length && !left.isEmpty()) {
      count = runs.length == 1
          ? takeOfOne(runs[0], toKeys, toValues, count)
          : takeOfMany(toKeys, toValues, count);
    }
    return count;
  }

  private int takeOfOne(Run run, Object[] toKeys, Object[] toValues, int count) throws IOException {
    int length = Math.min(toKeys.length - count, run.end - run.next);
    System.arraycopy(run.keys, run.next, toKeys, count, length);
    System.arraycopy(run.values, run.next, toValues, count, length);
    run.next += length;
    if (run.next == run.end && !run.fill()) {
      left.clear();
      build();
    }
    return count + length;
  }

  private int takeOfMany(Object[] toKeys, Object[] toValues, int from) throws IOException {
    int count = from;
    while (count < toKeys.length) {
      Run run = runs[winner];
      toKeys[count] = keys[winner];
      toValues[count] = run.values[run.next];
      count++;
      run.next++;
      if (run.next == run.end && !run.fill()) {
        left.remove(winner);
        build();
        return count;
      }
      keys[winner] = run.keys[run.next];
      replay();
    }
    return count;
  }

  private void build() {
    runs = left.toArray(new Run[0]);
    keys = new Object[runs.length];
    losers = new int[runs.length];
    for (int i = 0; i < runs.length; i++) {
      keys[i] = runs[i].keys[runs[i].next];
    }
    winner = runs.length > 1 ? winnerAt(1) : 0;
  }

  private int winnerAt(int node) {
    if (node >= runs.length) {
      return node - runs.length;
    }
    int first = winnerAt(2 * node);
    int second = winnerAt(2 * node + 1);
    boolean firstWins = isBefore(first, second);
    losers[node] = firstWins ? second : first;
    return firstWins ? first : second;
  }

  /** Finds the winner after the next record of the last winner has changed. */
  private void replay() {
    int candidate = winner;
    for (int node = (candidate + runs.length) >> 1; node > 0; node >>= 1) {
      int loser = losers[node];
      if (isBefore(loser, candidate)) {
        losers[node] = candidate;
        candidate = loser;
      }
    }
    winner = candidate;
  }

  private boolean isBefore(int run, int other) {
    int order = ordering.compare(keys[run], keys[other]);
    return order < 0 || (order == 0 && run < other);
  }
}
