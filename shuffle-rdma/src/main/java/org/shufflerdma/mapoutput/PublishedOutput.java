/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.ProtectionDomain;

/**
 * One map output that peers can read: the mapped file, its memory region and its descriptor. Made
 * and ended by {@link MapOutputRegistry}; ends in the order descriptor withdrawn, region
 * deregistered, file unmapped.
 */
public final class PublishedOutput {
  private final MappedFile file;
  private final MemoryRegion region;
  private final ArenaSlice descriptor;
  private final long generation;
  private final AtomicBoolean closed = new AtomicBoolean();

  private PublishedOutput(
      MappedFile file, MemoryRegion region, ArenaSlice descriptor, long generation) {
    this.file = file;
    this.region = region;
    this.descriptor = descriptor;
    this.generation = generation;
  }

  static PublishedOutput open(
      MapOutputFile output, long generation, ProtectionDomain domain, RegisteredArena arena)
      throws IOException, NotPublishedException {
    long lengthBytes = output.lengthBytes();
    MappedFile file = MappedFile.open(output.dataFile());
    try {
      if (file.size() != lengthBytes) {
        throw new NotPublishedException(
            NotPublishedException.Reason.FILE_CHANGED,
            output.dataFile() + " has " + file.size() + " bytes, its partitions " + lengthBytes);
      }
      MemoryRegion region = domain.register(file, 0, lengthBytes, Access.REMOTE_READ);
      try {
        ArenaSlice descriptor = describe(output, region, generation, arena);
        return new PublishedOutput(file, region, descriptor, generation);
      } catch (Throwable t) {
        region.close();
        throw t;
      }
    } catch (Throwable t) {
      file.close();
      throw t;
    }
  }

  private static ArenaSlice describe(
      MapOutputFile output, MemoryRegion region, long generation, RegisteredArena arena)
      throws IOException {
    int partitions = output.partitionLengths().length;
    ArenaSlice slice = arena.allocate(Math.toIntExact(MapOutputDescriptor.sizeBytes(partitions)));
    try {
      MapOutputDescriptor.encode(
          slice.buffer(),
          new MapOutputDescriptor.Header(
              output.checksums().algorithm(),
              output.shuffleId(),
              output.mapId(),
              generation,
              partitions,
              region.address(),
              region.length(),
              region.rkey()),
          output.partitionLengths(),
          output.checksums().values());
      return slice;
    } catch (Throwable t) {
      slice.close();
      throw t;
    }
  }

  public long generation() {
    return generation;
  }

  public long descriptorAddress() {
    return descriptor.address();
  }

  public int descriptorRkey() {
    return descriptor.rkey();
  }

  long lengthBytes() {
    return region.length();
  }

  /** New readers find no output from now on; READs under way still succeed. */
  void withdraw() {
    MapOutputDescriptor.withdraw(descriptor.buffer());
  }

  /**
   * Gives everything back. False if it had been given back before. What could not be deregistered
   * stays mapped: the device may still serve those addresses.
   */
  boolean close() throws IOException {
    if (!closed.compareAndSet(false, true)) {
      return false;
    }
    descriptor.close();
    region.close();
    file.close();
    return true;
  }
}
