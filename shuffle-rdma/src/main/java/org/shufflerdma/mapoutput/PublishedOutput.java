/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.mapoutput.NotPublishedException.Reason;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MappedFile;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.ProtectionDomain;

/**
 * One map output that peers know of: a descriptor, and while there is room for it the mapped file
 * with its memory region. Made and ended by {@link MapOutputRegistry}:
 *
 * <pre>
 *   WAITING ──register──▶ READABLE ──withdraw──▶ LEAVING ──release──▶ GONE
 *      └───────────────────────withdraw────────────────────────────────▲
 * </pre>
 *
 * Only in READABLE does the descriptor say where the data is; in LEAVING readers that know it from
 * before still find it. GONE keeps the descriptor's header, so that a late reader learns why, until
 * {@link #close}. The budget holds the data's bytes from before READABLE to GONE.
 */
public final class PublishedOutput {
  private final long generation;
  private final long lengthBytes;
  private final Path directory;
  private final ArenaSlice descriptor;
  private final DescriptorSeal seal;
  private final RegistrationBudget budget;

  // Guarded by this.
  private @Nullable MapOutputFile waiting;
  private boolean readable;
  private @Nullable MappedFile file;
  private @Nullable MemoryRegion region;

  private PublishedOutput(
      MapOutputFile output,
      long generation,
      ArenaSlice descriptor,
      DescriptorSeal seal,
      RegistrationBudget budget) {
    this.generation = generation;
    this.lengthBytes = output.lengthBytes();
    this.directory = Objects.requireNonNull(output.dataFile().getParent());
    this.descriptor = descriptor;
    this.seal = seal;
    this.budget = budget;
    this.waiting = output;
  }

  /** WAITING. */
  static PublishedOutput announce(
      MapOutputFile output,
      long generation,
      RegisteredArena arena,
      DescriptorSeal seal,
      RegistrationBudget budget)
      throws IOException {
    long descriptorBytes = MapOutputDescriptor.sizeBytes(output.partitionLengths().length);
    ArenaSlice descriptor = arena.allocate(Math.toIntExact(descriptorBytes));
    MapOutputDescriptor.withdraw(descriptor.buffer());
    return new PublishedOutput(output, generation, descriptor, seal, budget);
  }

  /**
   * WAITING to READABLE. The caller has taken the bytes from the budget; if this fails they are
   * given back, and the output will never be readable.
   */
  synchronized void register(ProtectionDomain domain) throws NotPublishedException {
    MapOutputFile output = waiting;
    waiting = null;
    if (output == null) {
      budget.giveBack(lengthBytes);
      throw new NotPublishedException(Reason.REMOVED, "it was withdrawn while it waited for room");
    }
    try {
      MappedFile mapped = MappedFile.open(output.dataFile());
      file = mapped;
      if (mapped.size() != lengthBytes) {
        throw new NotPublishedException(
            Reason.FILE_CHANGED,
            output.dataFile() + " has " + mapped.size() + " bytes, its partitions " + lengthBytes);
      }
      MemoryRegion data = domain.register(mapped, 0, lengthBytes, Access.REMOTE_READ);
      region = data;
      describe(output, data);
      readable = true;
    } catch (NotPublishedException e) {
      giveBackAfter(e);
      throw e;
    } catch (IOException | RuntimeException e) {
      giveBackAfter(e);
      throw new NotPublishedException(
          Reason.REGISTRATION, "cannot register " + output.dataFile() + ": " + e.getMessage(), e);
    }
  }

  private void giveBackAfter(Exception failure) {
    try {
      if (!release()) {
        budget.giveBack(lengthBytes);
      }
    } catch (IOException e) {
      failure.addSuppressed(e);
    }
  }

  private void describe(MapOutputFile output, MemoryRegion data) {
    MapOutputDescriptor.encode(
        descriptor.buffer(),
        descriptor.address(),
        seal,
        new MapOutputDescriptor.Header(
            output.checksums().algorithm(),
            output.shuffleId(),
            output.mapId(),
            generation,
            output.partitionLengths().length,
            data.address(),
            data.length(),
            data.rkey()),
        output.partitionLengths(),
        output.checksums().values());
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

  /** Where its file is, or was. */
  Path directory() {
    return directory;
  }

  synchronized boolean isRegistered() {
    return file != null;
  }

  synchronized boolean isReadable() {
    return readable;
  }

  long lengthBytes() {
    return lengthBytes;
  }

  /** New readers find no output from now on; READs under way still succeed. */
  synchronized void withdraw() {
    waiting = null;
    readable = false;
    if (descriptor.lengthBytes() > 0) {
      MapOutputDescriptor.withdraw(descriptor.buffer());
    }
  }

  /**
   * LEAVING to GONE; true if there was something to give back. What could not be deregistered stays
   * mapped and counted: the device may still serve those addresses.
   */
  synchronized boolean release() throws IOException {
    MappedFile mapped = file;
    if (mapped == null) {
      return false;
    }
    MemoryRegion data = region;
    file = null;
    region = null;
    if (data != null) {
      data.close();
    }
    mapped.close();
    budget.giveBack(lengthBytes);
    descriptor.shrink(MapOutputDescriptor.HEADER_BYTES);
    return true;
  }

  /** Frees the descriptor, too; the data has been released before. */
  void close() {
    descriptor.close();
  }
}
