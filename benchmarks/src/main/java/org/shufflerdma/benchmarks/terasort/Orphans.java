/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

/** Whether a sort reads its maps a second time when their executors have gone, and by which way they must come. */
enum Orphans {
  NONE,
  TCP,
  RDMA;

  static Orphans parse(String text) {
    return switch (text) {
      case "none" -> NONE;
      case "tcp" -> TCP;
      case "rdma" -> RDMA;
      default -> throw new IllegalArgumentException("--orphaned is none, tcp or rdma, not " + text);
    };
  }
}
