/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.shufflerdma.connection.Read;

class ReadListTest {
  private static final int MAX_READS = 64;
  private static final int SHARED_BYTES = 1 << 20;
  private static final ReadLimits LIMITS = new ReadLimits(MAX_READS, 1 << 30, SHARED_BYTES);
  private static final int RKEY = 7;

  private final ReadList list = new ReadList(0);

  @Test
  void adjacentRangesShareOneRead() {
    assertThat(list.add(1000, RKEY, 10, LIMITS)).isTrue();
    assertThat(list.add(1010, RKEY, 20, LIMITS)).isTrue();
    assertThat(list.reads()).containsExactly(new Read(1000, RKEY, 30, 0));
    assertThat(list.lengthBytes()).isEqualTo(30);
  }

  @Test
  void rangesOfDifferentRegionsOrWithAGapAreReadApart() {
    list.add(1000, RKEY, 10, LIMITS);
    list.add(1010, RKEY + 1, 10, LIMITS);
    list.add(1021, RKEY + 1, 10, LIMITS);
    assertThat(list.reads())
        .containsExactly(
            new Read(1000, RKEY, 10, 0),
            new Read(1010, RKEY + 1, 10, 10),
            new Read(1021, RKEY + 1, 10, 20));
  }

  @Test
  void aListHasNoMoreReadsThanItsLimit() {
    for (int i = 0; i < MAX_READS; i++) {
      assertThat(list.add(i * 100L, RKEY, 10, LIMITS)).isTrue();
    }
    assertThat(list.add(10_000, RKEY, 10, LIMITS)).isFalse();
    assertThat(list.add((MAX_READS - 1) * 100L + 10, RKEY, 10, LIMITS)).isTrue(); // adjacent
    assertThat(list.reads()).hasSize(MAX_READS);
  }

  @Test
  void aLargeRangeHasItsOwnBuffer() {
    assertThat(list.add(100, RKEY, SHARED_BYTES + 1L, LIMITS)).isTrue();
    assertThat(list.add(10_000_000, RKEY, 10, LIMITS)).isFalse();
    ReadList other = new ReadList(0);
    other.add(0, RKEY, 10, LIMITS);
    assertThat(other.add(100, RKEY, SHARED_BYTES, LIMITS)).isFalse();
    assertThat(other.lengthBytes()).isEqualTo(10);
  }

  @Test
  void aRangeBeyondTheLongestMessageIsReadInChunks() {
    ReadLimits short1000 = new ReadLimits(MAX_READS, 1000, SHARED_BYTES);
    ReadList later = new ReadList(300);
    later.add(5000, RKEY, 2500, short1000);
    assertThat(later.reads())
        .containsExactly(
            new Read(5000, RKEY, 1000, 300),
            new Read(6000, RKEY, 1000, 1300),
            new Read(7000, RKEY, 500, 2300));
    assertThat(list.add(0, RKEY, MAX_READS * 1000L + 1, short1000)).isFalse();
  }

  @Test
  void rangesPastTwoGibibytesKeepTheirLength() {
    long length = 5L << 30;
    list.add(4096, RKEY, length, LIMITS);
    assertThat(list.lengthBytes()).isEqualTo(length);
    assertThat(list.reads().stream().mapToLong(Read::lengthBytes).sum()).isEqualTo(length);
  }

  @Test
  void anEmptyRangeIsNeverRead() {
    assertThatThrownBy(() -> list.add(1000, RKEY, 0, LIMITS))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void whatAReadBringsIsKnown() {
    list.add(1000, RKEY, 10, LIMITS);
    list.add(1010, RKEY, 10, LIMITS);
    list.add(2000, RKEY, 10, LIMITS);
    assertThat(list.brings(0, 0, 10)).isTrue();
    assertThat(list.brings(0, 10, 20)).isTrue();
    assertThat(list.brings(0, 20, 30)).isFalse();
    assertThat(list.brings(1, 20, 30)).isTrue();
    assertThat(list.brings(1, 10, 20)).isFalse();
  }

  @Test
  void everyByteIsPlacedOnce() {
    Random random = new Random(20261120);
    long address = 0;
    long total = 0;
    int length = 1;
    while (list.add(address, RKEY, length, LIMITS)) {
      total += length;
      address += length + (random.nextBoolean() ? 0 : 64);
      length = 1 + random.nextInt(40_000);
    }
    long expectedOffset = 0;
    for (Read read : list.reads()) {
      assertThat(read.sinkOffset()).isEqualTo(expectedOffset);
      expectedOffset += read.lengthBytes();
    }
    assertThat(expectedOffset).isEqualTo(list.lengthBytes()).isEqualTo(total);
  }
}
