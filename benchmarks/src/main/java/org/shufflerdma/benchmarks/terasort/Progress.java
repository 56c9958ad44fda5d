/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

/** Lines for the person who waits, on stderr: stdout holds results alone. */
final class Progress {
  private Progress() {}

  static void say(String line) {
    System.err.println("terasort: " + line);
  }
}
