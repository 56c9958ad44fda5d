/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.inner;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.shufflerdma.location.ChecksumAlgorithm;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.location.InvalidDescriptorException;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.location.MapOutputDescriptor.Header;
import org.shufflerdma.location.PartitionRanges;

/** What a descriptor costs the map task that writes it, and the first reduce task that reads it. */
@State(Scope.Thread)
public class DescriptorLoops {
  private static final int BLOCK_BYTES = 1_024;
  private static final long ADDRESS = 0x7f00_0000_0000L;

  @Param({"8", "400"})
  public int partitions;

  private final DescriptorSeal seal = new DescriptorSeal(new byte[32]);
  private long[] lengths = {};
  private int[] checksums = {};
  private ByteBuffer descriptor = ByteBuffer.allocateDirect(0);
  private Header header = new Header(ChecksumAlgorithm.NONE, 0, 0, 0, 1, 0, 0, 0);

  @Setup
  public void setUp() {
    lengths = new long[partitions];
    Arrays.fill(lengths, BLOCK_BYTES);
    checksums = new int[partitions];
    Arrays.fill(checksums, 0x600D_F00D);
    descriptor =
        ByteBuffer.allocateDirect(Math.toIntExact(MapOutputDescriptor.sizeBytes(partitions)));
    header = new Header(
        ChecksumAlgorithm.CRC32C, 1, 2, 3, partitions, ADDRESS, (long) partitions * BLOCK_BYTES, 4);
    write();
  }

  @Benchmark
  public ByteBuffer write() {
    MapOutputDescriptor.encode(descriptor, ADDRESS, seal, header, lengths, checksums);
    return descriptor;
  }

  @Benchmark
  public Header readHeader() throws InvalidDescriptorException {
    return MapOutputDescriptor.decodeHeader(descriptor, ADDRESS, seal);
  }

  @Benchmark
  public PartitionRanges readEntries() throws InvalidDescriptorException {
    return MapOutputDescriptor.decodeEntries(
        descriptor.slice(
            MapOutputDescriptor.HEADER_BYTES,
            descriptor.capacity() - MapOutputDescriptor.HEADER_BYTES),
        header,
        0,
        partitions);
  }
}
