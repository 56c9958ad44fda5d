/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

/** The outcome of one number of the campaign. */
record Verdict(Kind kind, String text) {
  enum Kind {
    RIGHT,
    /** The job failed with Spark's own error, after one of its processes was ended. */
    SPARK_FAILURE,
    /** The intended event did not happen, so the number is not counted. */
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
