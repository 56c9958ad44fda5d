/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

/** One attempt of a stage. */
record StageKey(long id, long attempt) implements Comparable<StageKey> {
  @Override
  public int compareTo(StageKey other) {
    return id == other.id ? Long.compare(attempt, other.attempt) : Long.compare(id, other.id);
  }

  @Override
  public String toString() {
    return attempt == 0 ? Long.toString(id) : id + "." + attempt;
  }
}
