/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
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

  @Test
  void theComparisonHasTheSecondsOfEachShuffle() {
    ShuffleTotals totals = new ShuffleTotals(50, 0, 50, 50);
    SortResult stock = result(ShuffleKind.SORT, Orphans.NONE, totals, 2, 2_500);
    assertThat(SortResult.comparison(List.of(stock, rdma(totals, 2))))
        .isEqualTo("Spark's own shuffle 2.5 s, shuffle-rdma 1.5 s");
  }

  private static SortResult rdma(ShuffleTotals totals, int executors) {
    return result(ShuffleKind.RDMA, Orphans.NONE, totals, executors, 1_500);
  }

  private static SortResult orphaned(ShuffleTotals totals) {
    return result(ShuffleKind.RDMA, Orphans.TCP, totals, 4, 1_500);
  }

  private static SortResult result(
      ShuffleKind kind, Orphans orphans, ShuffleTotals totals, int executors, long sortMs) {
    return new SortResult(
        kind,
        orphans,
        new Validation.Outcome("ab", 10, null),
        totals,
        Map.of(),
        executors,
        4,
        sortMs,
        Map.of());
  }
}
