/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

final class SortResultTest {
  @Test
  void allRemoteBytesByRdmaIsTheRightPath() {
    assertThat(rdma(new ShuffleTotals(50, 0, 50, 50), 2).wrongPath()).isNull();
  }

  @Test
  void anyByteByTcpIsAWrongPath() {
    assertThat(rdma(new ShuffleTotals(49, 1, 50, 50), 2).wrongPath()).contains("1 bytes");
  }

  @Test
  void blocksOfExecutorsThatHaveGoneComeByTcpAndThoseOfOthersByRdma() {
    assertThat(orphaned(new ShuffleTotals(50, 100, 150, 50)).wrongPath()).isNull();
    assertThat(orphaned(new ShuffleTotals(50, 0, 50, 50)).wrongPath())
        .contains("0 by TCP of those that had gone");
    assertThat(orphaned(new ShuffleTotals(0, 100, 100, 50)).wrongPath())
        .contains("0 bytes came by RDMA");
  }

  @Test
  void countsThatDifferFromSparksAreAWrongPath() {
    assertThat(rdma(new ShuffleTotals(60, 0, 50, 50), 2).wrongPath()).contains("Spark");
  }

  @Test
  void tooFewRemoteBytesAreAWrongPathOnlyWithSeveralExecutors() {
    ShuffleTotals fewRemote = new ShuffleTotals(30, 0, 30, 70);
    assertThat(rdma(fewRemote, 2).wrongPath()).contains("30 of 100");
    assertThat(rdma(fewRemote, 1).wrongPath()).isNull();
  }

  @Test
  void theLineHoldsEveryFieldInOrder() {
    assertThat(rdma(new ShuffleTotals(50, 0, 50, 42), 2).line())
        .isEqualTo("terasort: valid records=10 bytes=1000 checksum=ab rdma_bytes=50 tcp_bytes=0"
            + " local_bytes=42 seconds=1.5");
  }

  private static SortResult rdma(ShuffleTotals totals, int executors) {
    return result(Orphans.NONE, totals, executors);
  }

  private static SortResult orphaned(ShuffleTotals totals) {
    return result(Orphans.TCP, totals, 4);
  }

  private static SortResult result(Orphans orphans, ShuffleTotals totals, int executors) {
    return new SortResult(
        ShuffleKind.RDMA,
        orphans,
        new Validation.Outcome("ab", 10, null),
        totals,
        Map.of(),
        executors,
        4,
        1_500,
        Map.of());
  }
}
