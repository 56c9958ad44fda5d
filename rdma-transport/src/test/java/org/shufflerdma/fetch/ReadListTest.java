/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.shufflerdma.connection.Read;
import org.shufflerdma.fetch.ReadPlan.Extent;
import org.shufflerdma.fetch.ReadPlan.Placement;
import org.shufflerdma.fetch.ReadPlan.ReadList;

class ReadPlanTest {
  private static final int MAX_READS = 64;
  private static final int SHARED_BYTES = 1 << 20;
  private static final ReadPlan.Limits LIMITS =
      new ReadPlan.Limits(MAX_READS, 1 << 30, SHARED_BYTES);
  private static final int RKEY = 7;

  private static List<ReadList> plan(Extent... extents) {
    return ReadPlan.of(List.of(extents), LIMITS);
  }

  @Test
  void adjacentRangesShareOneRead() {
    List<ReadList> lists = plan(new Extent(0, 1000, RKEY, 10), new Extent(1, 1010, RKEY, 20));
    assertThat(lists).hasSize(1);
    assertThat(lists.get(0).reads()).containsExactly(new Read(1000, RKEY, 30, 0));
    assertThat(lists.get(0).placements())
        .containsExactly(new Placement(0, 0, 10), new Placement(1, 10, 20));
  }

  @Test
  void rangesOfDifferentRegionsOrWithAGapAreReadApart() {
    List<ReadList> lists = plan(
        new Extent(0, 1000, RKEY, 10),
        new Extent(1, 1010, RKEY + 1, 10),
        new Extent(2, 1021, RKEY + 1, 10));
    assertThat(lists).hasSize(1);
    assertThat(lists.get(0).reads())
        .containsExactly(
            new Read(1000, RKEY, 10, 0),
            new Read(1010, RKEY + 1, 10, 10),
            new Read(1021, RKEY + 1, 10, 20));
  }

  @Test
  void manySmallRangesFillListsUpToTheirLimit() {
    Extent[] extents = IntStream.range(0, 130)
        .mapToObj(i -> new Extent(i, i * 100L, RKEY, 10))
        .toArray(Extent[]::new);
    List<ReadList> lists = plan(extents);
    assertThat(lists).extracting(list -> list.reads().size()).containsExactly(64, 64, 2);
  }

  @Test
  void aLargeRangeHasItsOwnBuffer() {
    long large = SHARED_BYTES + 1L;
    List<ReadList> lists = plan(
        new Extent(0, 0, RKEY, 10),
        new Extent(1, 100, RKEY, large),
        new Extent(2, 10_000_000, RKEY, 10));
    assertThat(lists).extracting(ReadList::bufferBytes).containsExactly(10L, large, 10L);
  }

  @Test
  void aRangeBeyondTheLongestMessageIsReadInChunks() {
    List<ReadList> lists = ReadPlan.of(
        List.of(new Extent(0, 5000, RKEY, 2500)),
        new ReadPlan.Limits(MAX_READS, 1000, SHARED_BYTES));
    assertThat(lists.get(0).reads())
        .containsExactly(
            new Read(5000, RKEY, 1000, 0),
            new Read(6000, RKEY, 1000, 1000),
            new Read(7000, RKEY, 500, 2000));
  }

  @Test
  void rangesPastTwoGibibytesKeepTheirLength() {
    long length = 5L << 30;
    List<ReadList> lists = plan(new Extent(0, 4096, RKEY, length));
    assertThat(lists.get(0).bufferBytes()).isEqualTo(length);
    assertThat(lists.get(0).reads().stream().mapToLong(Read::lengthBytes).sum()).isEqualTo(length);
  }

  @Test
  void anEmptyRangeIsNeverRead() {
    assertThatThrownBy(() -> plan(new Extent(0, 1000, RKEY, 0)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aReadNamesTheItemsThatShareIt() {
    ReadList list = plan(
            new Extent(5, 1000, RKEY, 10),
            new Extent(6, 1010, RKEY, 10),
            new Extent(7, 2000, RKEY, 10))
        .get(0);
    assertThat(list.itemsOf(0)).containsExactly(5, 6);
    assertThat(list.itemsOf(1)).containsExactly(7);
  }

  @Test
  void everyByteIsPlacedOnce() {
    List<Extent> extents = new ArrayList<>();
    java.util.Random random = new java.util.Random(20261120);
    long address = 0;
    long total = 0;
    for (int i = 0; i < 500; i++) {
      int length = 1 + random.nextInt(40_000);
      extents.add(new Extent(i, address, RKEY, length));
      address += length + (random.nextBoolean() ? 0 : 64);
      total += length;
    }
    List<ReadList> lists = ReadPlan.of(extents, LIMITS);
    long placed = 0;
    for (ReadList list : lists) {
      long expectedOffset = 0;
      for (Read read : list.reads()) {
        assertThat(read.sinkOffset()).isEqualTo(expectedOffset);
        expectedOffset += read.lengthBytes();
      }
      assertThat(expectedOffset).isEqualTo(list.bufferBytes());
      placed += list.bufferBytes();
    }
    assertThat(placed).isEqualTo(total);
  }
}
