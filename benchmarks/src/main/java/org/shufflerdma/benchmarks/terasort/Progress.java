/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

/** Prints progress on stderr, since stdout holds only results. */
final class Progress {
  private Progress() {}

  static void say(String line) {
    System.err.println("terasort: " + line);
  }
}
