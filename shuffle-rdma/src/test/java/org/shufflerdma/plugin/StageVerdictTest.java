/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.shufflerdma.device.ExecutorMemory;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCount;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TcpReason;

class StageVerdictTest {
  private static final long GIB = 1L << 30;
  private static final long RUN_MICROS = 20_000_000;
  private static final MemoryAdvice ON_STANDALONE = new MemoryAdvice(null, null, () -> 5, false);

  private static @Nullable String verdict(Map<ReadCount, Long> counts, MemoryAdvice memory) {
    return StageVerdict.of(count -> counts.getOrDefault(count, 0L), RUN_MICROS, memory, true);
  }

  /** Node services staged all blocks, for which tasks waited for so long. */
  private static Map<ReadCount, Long> ofNodeServices(long waitedMicros) {
    return Map.of(
        Counter.RDMA_BYTES,
        GIB,
        Counter.STAGED_BYTES,
        GIB,
        Counter.NODE_SERVICE_BYTES,
        GIB,
        TaskTime.STAGING,
        waitedMicros);
  }

  @Test
  void aStageThatReadNothingHasNone() {
    assertThat(verdict(Map.of(), ON_STANDALONE)).isNull();
  }

  @Test
  void registeredBlocksAreWorthNoLine() {
    assertThat(verdict(Map.of(Counter.RDMA_BYTES, GIB), ON_STANDALONE)).isNull();
  }

  @Test
  void aFewBytesByTcpAreWorthNoLine() {
    assertThat(verdict(
            Map.of(Counter.RDMA_BYTES, GIB, Counter.TCP_BYTES, GIB / 500, TcpReason.POOL, 3L),
            ON_STANDALONE))
        .isNull();
  }

  @Test
  void theReasonOfMostBlocksIsNamed() {
    assertThat(verdict(
            Map.of(
                Counter.RDMA_BYTES,
                3 * GIB,
                Counter.TCP_BYTES,
                GIB,
                Counter.TCP_BLOCKS,
                50L,
                TcpReason.POOL,
                40L,
                TcpReason.TIMEOUT,
                10L),
            ON_STANDALONE))
        .startsWith("25 % of the remote bytes (1.0 GiB of 4.0 GiB) came by TCP, most blocks (40 of"
            + " 50) because no fetch buffer was free: raise spark.shuffle.rdma.poolBytes");
  }

  @ParameterizedTest
  @EnumSource
  void eachReasonHasAText(TcpReason reason) {
    assertThat(verdict(
            Map.of(Counter.TCP_BYTES, GIB, Counter.TCP_BLOCKS, 7L, reason, 7L), ON_STANDALONE))
        .startsWith(
            "100 % of the remote bytes (1.0 GiB of 1.0 GiB) came by TCP, most blocks (7 of 7) because ");
  }

  @Test
  void blocksOfNodeServicesAreNotForWantOfRoom() {
    assertThat(verdict(ofNodeServices(0), ON_STANDALONE)).isNull();
  }

  @Test
  void waitsThatAreShortBesideTheTimeOfTasksAreWorthNoLine() {
    assertThat(verdict(Map.of(TaskTime.READ, 2_500_000L, TaskTime.POOL, 2_400_000L), ON_STANDALONE))
        .isNull();
  }

  /** Under another shuffle manager what is read first is staged, however much room there is. */
  @Test
  void whatIsStagedSaysNothingWhereNothingIsRegisteredAtTheCommit() {
    assertThat(StageVerdict.of(
            count -> count == Counter.RDMA_BYTES || count == Counter.STAGED_BYTES ? 1L << 30 : 0,
            RUN_MICROS,
            ON_STANDALONE,
            false))
        .isNull();
  }

  @Test
  void waitsOfAShortStageAreWorthNoLine() {
    assertThat(StageVerdict.of(
            count -> count == TaskTime.READ ? 4_900_000 : 0, 5_000_000, ON_STANDALONE, true))
        .isNull();
  }

  @Test
  void theLongestWaitIsNamed() {
    assertThat(verdict(Map.of(TaskTime.READ, 2_000_000L, TaskTime.POOL, 3_100_000L), ON_STANDALONE))
        .isEqualTo("its tasks waited for 5.1 s of the 20.0 s that they ran, most of it (3.1 s) for"
            + " fetch buffers: raise spark.shuffle.rdma.poolBytes, and"
            + " spark.shuffle.rdma.maxRegisteredBytes to twice as much");
  }

  @ParameterizedTest
  @EnumSource(names = {"READ", "CONNECTION", "STAGING", "SEND_QUEUE", "POOL"})
  void eachWaitHasAText(TaskTime wait) {
    assertThat(verdict(Map.of(wait, 6_000_000L), ON_STANDALONE))
        .startsWith(
            "its tasks waited for 6.0 s of the 20.0 s that they ran, most of it (6.0 s) for ");
  }

  @Test
  void waitsForBlocksOfNodeServicesNameDisks() {
    assertThat(verdict(ofNodeServices(6_000_000), ON_STANDALONE))
        .endsWith("look at the disks of their hosts");
  }

  @Test
  void waitsForStagedBlocksNameTheMemoryThatIsWanting() {
    Map<ReadCount, Long> counts = Map.of(
        Counter.RDMA_BYTES, 100 * GIB, Counter.STAGED_BYTES, 4 * GIB, TaskTime.STAGING, 6_000_000L);
    assertThat(verdict(counts, new MemoryAdvice(GIB, null, () -> 5, false)))
        .endsWith("blocks to be staged: set spark.shuffle.rdma.maxRegisteredBytes=2688m");
  }

  /** Five executors staged 4 GiB for the other four fifths: 1 GiB each, and 5/8 of what is added. */
  @Test
  void theMemoryThatIsWantingIsNamed() {
    Map<ReadCount, Long> counts =
        Map.of(Counter.RDMA_BYTES, 5 * GIB, Counter.STAGED_BYTES, 4 * GIB);
    assertThat(verdict(counts, ON_STANDALONE))
        .isEqualTo(
            "80 % of the remote bytes (4.0 GiB of 5.0 GiB) were staged by their owners, whose"
                + " budget of registered bytes was full: set spark.shuffle.rdma.maxRegisteredBytes to"
                + " 1664m more than the executors' first lines say may be registered");
    assertThat(verdict(counts, new MemoryAdvice(GIB, null, () -> 5, false)))
        .endsWith("set spark.shuffle.rdma.maxRegisteredBytes=2688m");
    ExecutorMemory.Overhead overhead =
        new ExecutorMemory.Overhead(GIB, "spark.executor.memoryOverhead");
    assertThat(verdict(counts, new MemoryAdvice(null, overhead, () -> 5, false)))
        .endsWith("set spark.executor.memoryOverhead=4352m");
    assertThat(verdict(counts, new MemoryAdvice(GIB, overhead, () -> 5, false)))
        .endsWith("set spark.shuffle.rdma.maxRegisteredBytes=2688m, and"
            + " spark.executor.memoryOverhead to at least that");
  }

  @Test
  void theLimitOfOpenFilesIsNamedIfItIsWhatKeptMoreOutputsFromBeingRegistered() {
    assertThat(verdict(
            Map.of(Counter.RDMA_BYTES, 5 * GIB, Counter.STAGED_BYTES, 4 * GIB),
            new MemoryAdvice(GIB, null, () -> 5, true)))
        .contains(
            "whose share of open files or mappings was used up: raise the limit of open files")
        .contains("ulimit -n", "vm.max_map_count")
        .doesNotContain("maxRegisteredBytes");
  }
}
