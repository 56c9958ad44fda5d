/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.CRC32C;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.location.ChecksumAlgorithm;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.ProtectionDomain;

/** A map output of random bytes in a file, registered and described as a map task does it. */
public final class TestMapOutput implements AutoCloseable {
  private static final int SHUFFLE_ID = 3;

  private final Path path;
  private final MappedFile file;
  private final MemoryRegion region;
  private final ArenaSlice descriptor;
  private final DescriptorRef ref;
  private final long[] lengths;
  private final byte[] data;

  private TestMapOutput(
      Path path,
      MappedFile file,
      MemoryRegion region,
      ArenaSlice descriptor,
      DescriptorRef ref,
      long[] lengths,
      byte[] data) {
    this.path = path;
    this.file = file;
    this.region = region;
    this.descriptor = descriptor;
    this.ref = ref;
    this.lengths = lengths;
    this.data = data;
  }

  public static TestMapOutput publish(
      ProtectionDomain domain, RegisteredArena arena, Path directory, long mapId, long... lengths)
      throws IOException {
    byte[] data = new byte[Math.toIntExact(Arrays.stream(lengths).sum())];
    new Random(mapId).nextBytes(data);
    Path path = Files.write(directory.resolve("shuffle_3_" + mapId + "_0.data"), data);
    MappedFile file = MappedFile.open(path);
    MemoryRegion region = domain.register(file, 0, file.size(), Access.REMOTE_READ);
    long generation = mapId + 1;
    MapOutputDescriptor.Header header = new MapOutputDescriptor.Header(
        ChecksumAlgorithm.CRC32C,
        SHUFFLE_ID,
        mapId,
        generation,
        lengths.length,
        region.address(),
        data.length,
        region.rkey());
    ArenaSlice slice =
        arena.allocate(Math.toIntExact(MapOutputDescriptor.sizeBytes(lengths.length)));
    MapOutputDescriptor.encode(
        slice.buffer(),
        slice.address(),
        TestTransports.seal(),
        header,
        lengths,
        checksums(data, lengths));
    DescriptorRef ref = new DescriptorRef(
        slice.address(), slice.rkey(), generation, SHUFFLE_ID, mapId, lengths.length);
    return new TestMapOutput(path, file, region, slice, ref, lengths, data);
  }

  private static int[] checksums(byte[] data, long[] lengths) {
    int[] checksums = new int[lengths.length];
    int at = 0;
    for (int i = 0; i < lengths.length; i++) {
      CRC32C crc = new CRC32C();
      crc.update(data, at, (int) lengths[i]);
      checksums[i] = (int) crc.getValue();
      at += (int) lengths[i];
    }
    return checksums;
  }

  public DescriptorRef ref() {
    return ref;
  }

  public MemoryRegion region() {
    return region;
  }

  public ArenaSlice descriptor() {
    return descriptor;
  }

  public BlockRequest block(long tag, int startPartition, int endPartition) {
    return new BlockRequest(tag, ref, startPartition, endPartition, null);
  }

  public byte[] expected(int startPartition, int endPartition) {
    int from = (int) Arrays.stream(lengths, 0, startPartition).sum();
    int to = (int) Arrays.stream(lengths, 0, endPartition).sum();
    return Arrays.copyOfRange(data, from, to);
  }

  /** Changes a byte of the file behind the descriptor's back. */
  public void tamper(int at) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.wrap(new byte[] {(byte) ~data[at]}), at);
    }
  }

  public void cutShort() throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      channel.truncate(0);
    }
  }

  public void delete() throws IOException {
    Files.delete(path);
  }

  @Override
  public void close() throws IOException {
    descriptor.close();
    region.close();
    file.close();
  }
}
