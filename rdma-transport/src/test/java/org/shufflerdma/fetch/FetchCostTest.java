/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.fetch.MeasuredFetch.Cost;
import org.shufflerdma.fetch.MeasuredFetch.Scene;
import org.shufflerdma.verbs.OnSoftDevice;

/**
 * What the blocks that a task reads directly cost, in things that can be counted. A budget of bytes is
 * today's figure and a little room: whoever lowers the figure lowers the budget. The times are only
 * printed.
 */
@Timeout(120)
@OnSoftDevice("counts work requests")
class FetchCostTest {
  private static final int READS_OF_A_LIST = 64;
  private static final int BLOCKS_OF_A_LIST = 256;

  /** Of objects that the task makes for a block with a READ of its own: 431 bytes today. */
  private static final double BYTES_OF_A_BLOCK = 435;

  /** The same for one of many blocks that a READ brings: 374 bytes today. */
  private static final double BYTES_OF_A_NEIGHBOUR = 384;

  /** Of objects that the poller makes for a list: it is woken now and then, which is 0.2 bytes today. */
  private static final double BYTES_OF_A_LIST = 8;

  /** Of the native library, by all threads together: one to post a list and about one to poll for it. */
  private static final double CALLS_OF_A_LIST = 3;

  private static Map<Scene, Cost> costs = Map.of();

  @BeforeAll
  static void measure(@TempDir Path directory) throws IOException {
    costs = MeasuredFetch.costs(directory);
    costs.forEach((scene, cost) -> System.out.println(scene + ": " + cost));
  }

  private static Cost cost(Scene scene) {
    return Objects.requireNonNull(costs.get(scene));
  }

  /** The task posts and polls for whole lists itself, and the workers, who connect, hear of nothing. */
  private static void assertOnlyListsTakeCallsAndThreads(Cost cost) {
    assertThat(cost.nativeCallsOfList()).isLessThan(CALLS_OF_A_LIST);
    assertThat(cost.pollerBytesOfList()).isLessThan(BYTES_OF_A_LIST);
    assertThat(cost.workers().bytes()).isZero();
  }

  @Test
  void aBlockTakesOneReadAndASixtyFourthOfAList() {
    Cost cost = cost(Scene.APART);
    assertThat(cost.reads()).isEqualTo(cost.blocks());
    assertThat(cost.lists()).isEqualTo(cost.blocks() / READS_OF_A_LIST);
    assertThat(cost.descriptors()).isZero();
    assertThat(cost.taskBytesOfBlock()).isLessThan(BYTES_OF_A_BLOCK);
    assertOnlyListsTakeCallsAndThreads(cost);
  }

  @Test
  void neighboursTakeOneReadTogetherAndMakeLongerLists() {
    Cost cost = cost(Scene.NEIGHBOURS);
    assertThat(cost.reads()).isEqualTo(cost.blocks() / MeasuredFetch.PARTITIONS);
    assertThat(cost.lists()).isEqualTo(cost.blocks() / BLOCKS_OF_A_LIST);
    assertThat(cost.taskBytesOfBlock()).isLessThan(BYTES_OF_A_NEIGHBOUR);
    assertOnlyListsTakeCallsAndThreads(cost);
  }

  @Test
  void theFirstTaskReadsEachDescriptorByOneReadAndTheOthersReadNone() {
    Cost cost = cost(Scene.FIRST_READS);
    assertThat(cost.blocks()).isEqualTo(MeasuredFetch.TASKS * MeasuredFetch.MAPS);
    assertThat(cost.descriptors()).isEqualTo(MeasuredFetch.MAPS);
    int canary = 1;
    assertThat(cost.reads()).isEqualTo(cost.blocks() + MeasuredFetch.MAPS + canary);
  }

  @Test
  void twoTasksSideBySideTakeWhatOneAfterTheOtherTakes() {
    Cost cost = cost(Scene.SIDE_BY_SIDE);
    assertThat(cost.reads()).isEqualTo(cost.blocks());
    assertThat(cost.lists()).isEqualTo(cost.blocks() / READS_OF_A_LIST);
    assertThat(cost.taskBytesOfBlock()).isLessThan(BYTES_OF_A_BLOCK);
    assertOnlyListsTakeCallsAndThreads(cost);
  }
}
