/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.util.List;

/** The shuffle a sort runs on. */
enum ShuffleKind {
  SORT("sort", "Spark's own shuffle", "sort"),
  RDMA("rdma", "shuffle-rdma", "RdmaShuffleManager");

  private final String label;
  private final String title;
  private final String managerClass;

  ShuffleKind(String label, String title, String managerClass) {
    this.label = label;
    this.title = title;
    this.managerClass = managerClass;
  }

  static List<ShuffleKind> parse(String text) {
    return switch (text) {
      case "sort" -> List.of(SORT);
      case "rdma" -> List.of(RDMA);
      case "both" -> List.of(SORT, RDMA);
      default -> throw new IllegalArgumentException("--shuffle is sort, rdma or both, not " + text);
    };
  }

  String label() {
    return label;
  }

  String title() {
    return title;
  }

  String managerClass() {
    return managerClass;
  }
}
