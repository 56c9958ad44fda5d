/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.shufflerdma.location.MapOutputDescriptor.Header;

class MapOutputDescriptorTest {
  private static final Header HEADER =
      new Header(ChecksumAlgorithm.CRC32C, 7, 1234567890123L, 42, 3, 0x7F00_0000_1000L, 60, -5);
  private static final long[] LENGTHS = {10, 0, 50};
  private static final int[] CHECKSUMS = {11, 22, -33};
  private static final long AT = 0x7F00_0000_0040L;
  private static final DescriptorSeal SEAL = new DescriptorSeal(new byte[] {1, 2, 3});

  private static ByteBuffer encoded() {
    ByteBuffer out = ByteBuffer.allocateDirect((int) MapOutputDescriptor.sizeBytes(3));
    MapOutputDescriptor.encode(out, AT, SEAL, HEADER, LENGTHS, CHECKSUMS);
    return out;
  }

  private static ByteBuffer entries(ByteBuffer descriptor, int start) {
    return descriptor.position((int) MapOutputDescriptor.entryAt(start));
  }

  @Test
  void headerComesBackAsWritten() throws Exception {
    assertThat(MapOutputDescriptor.decodeHeader(encoded(), AT, SEAL)).isEqualTo(HEADER);
  }

  @Test
  void sliceGivesExactRangesAndChecksums() throws Exception {
    PartitionRanges ranges = MapOutputDescriptor.decodeEntries(entries(encoded(), 1), HEADER, 1, 3);
    assertThat(ranges.offset(1)).isEqualTo(10);
    assertThat(ranges.lengthBytes(1)).isZero();
    assertThat(ranges.offset(2)).isEqualTo(10);
    assertThat(ranges.lengthBytes(2)).isEqualTo(50);
    assertThat(ranges.offset(3)).isEqualTo(60);
    assertThat(ranges.checksum(2)).isEqualTo(-33);
  }

  @Test
  void everyFlippedBitOfTheHeaderIsRefused() {
    for (int bit = 0; bit < MapOutputDescriptor.HEADER_BYTES * 8; bit++) {
      ByteBuffer bytes = encoded();
      bytes.put(bit / 8, (byte) (bytes.get(bit / 8) ^ (1 << (bit % 8))));
      assertThatThrownBy(() -> MapOutputDescriptor.decodeHeader(bytes, AT, SEAL))
          .isInstanceOf(InvalidDescriptorException.class);
    }
  }

  @Test
  void everyFlippedBitOfAnEntryIsRefused() {
    int first = MapOutputDescriptor.HEADER_BYTES * 8;
    for (int bit = first; bit < first + MapOutputDescriptor.ENTRY_BYTES * 8; bit++) {
      ByteBuffer bytes = encoded();
      bytes.put(bit / 8, (byte) (bytes.get(bit / 8) ^ (1 << (bit % 8))));
      assertThatThrownBy(() -> MapOutputDescriptor.decodeEntries(entries(bytes, 0), HEADER, 0, 3))
          .isInstanceOf(InvalidDescriptorException.class);
    }
  }

  @Test
  void aHeaderThatWasSealedElsewhereOrByAnotherApplicationIsRefused() {
    DescriptorSeal other = new DescriptorSeal(new byte[] {1, 2, 4});
    assertThatThrownBy(() -> MapOutputDescriptor.decodeHeader(encoded(), AT + 64, SEAL))
        .isInstanceOf(InvalidDescriptorException.class);
    assertThatThrownBy(() -> MapOutputDescriptor.decodeHeader(encoded(), AT, other))
        .isInstanceOf(InvalidDescriptorException.class);
  }

  @Test
  void entriesOfAnotherGenerationAreRefused() {
    Header later = new Header(ChecksumAlgorithm.CRC32C, 7, 1234567890123L, 43, 3, 4096, 60, -5);
    assertThatThrownBy(() -> MapOutputDescriptor.decodeEntries(entries(encoded(), 0), later, 0, 3))
        .hasMessageContaining("entry 0 is not of this output");
  }

  @Test
  void withdrawnDescriptorSaysSo() {
    ByteBuffer bytes = encoded();
    MapOutputDescriptor.withdraw(bytes);
    assertThatThrownBy(() -> MapOutputDescriptor.decodeHeader(bytes, AT, SEAL))
        .hasMessageContaining("withdrawn");
  }

  @Test
  void partitionsOutsideTheOutputAreRefused() {
    assertThatThrownBy(() -> MapOutputDescriptor.decodeEntries(encoded(), HEADER, 2, 4))
        .hasMessage("partitions 2..4 of 3");
    assertThatThrownBy(() -> MapOutputDescriptor.decodeEntries(encoded(), HEADER, -1, 2))
        .isInstanceOf(InvalidDescriptorException.class);
    assertThatThrownBy(() -> MapOutputDescriptor.decodeEntries(encoded(), HEADER, 1, 1))
        .isInstanceOf(InvalidDescriptorException.class);
  }

  @Test
  void lengthsThatDoNotFillTheDataAreRefusedByTheWriter() {
    ByteBuffer out = ByteBuffer.allocate((int) MapOutputDescriptor.sizeBytes(3));
    assertThatThrownBy(() ->
            MapOutputDescriptor.encode(out, AT, SEAL, HEADER, new long[] {1, 2, 3}, CHECKSUMS))
        .hasMessage("the partitions have 6 bytes, but the data has 60");
  }
}
