/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

/** How one number of the campaign ended. */
record Verdict(Kind kind, String text) {
  enum Kind {
    RIGHT,
    /** The job failed, and Spark said why, after a process was taken from it. */
    SPARK_FAILURE,
    /** What was to happen did not: the number says nothing and is not counted. */
    MISSED,
    WRONG,
    HUNG,
    LEAKED
  }

  static Verdict right(String text) {
    return new Verdict(Kind.RIGHT, text);
  }

  static Verdict missed(String text) {
    return new Verdict(Kind.MISSED, text);
  }

  static Verdict wrong(String text) {
    return new Verdict(Kind.WRONG, text);
  }

  static Verdict leaked(String text) {
    return new Verdict(Kind.LEAKED, text);
  }

  boolean isBad() {
    return kind == Kind.WRONG || kind == Kind.HUNG || kind == Kind.LEAKED;
  }

  boolean isCounted() {
    return kind != Kind.MISSED;
  }
}
