/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.ProtectionDomain;

/**
 * One map output that peers know of: a descriptor, and the file with its memory region. Made and
 * ended by {@link MapOutputRegistry}:
 *
 * <pre>
 *   ANNOUNCED ──register──▶ READABLE ──withdraw──▶ LEAVING ──release──▶ GONE
 *      └────────────────────────withdraw───────────────────────────────▲
 * </pre>
 *
 * Only in READABLE does the descriptor say where the data is; in LEAVING readers that know it from
 * before still find it. It has its room from before READABLE to GONE. Any thread may
 * call; nobody but its caller waits while the device registers or deregisters.
 */
public final class PublishedOutput {
  private final long generation;
  private final long lengthBytes;
  private final Path path;
  private final ArenaSlice descriptor;
  private final DescriptorSeal seal;
  private final OutputRoom room;

  // Guarded by this.
  private @Nullable MapOutputFile waiting;
  private boolean readable;
  private @Nullable RegisteredFile data;

  private PublishedOutput(
      MapOutputFile output,
      long lengthBytes,
      long generation,
      ArenaSlice descriptor,
      DescriptorSeal seal,
      OutputRoom room) {
    this.generation = generation;
    this.lengthBytes = lengthBytes;
    this.path = output.dataFile();
    this.descriptor = descriptor;
    this.seal = seal;
    this.room = room;
    this.waiting = output;
  }

  /** ANNOUNCED. */
  static PublishedOutput announce(
      MapOutputFile output,
      long lengthBytes,
      long generation,
      RegisteredArena arena,
      DescriptorSeal seal,
      OutputRoom room)
      throws IOException {
    long descriptorBytes = MapOutputDescriptor.sizeBytes(output.partitionLengths().length);
    ArenaSlice descriptor = arena.allocate(Math.toIntExact(descriptorBytes));
    MapOutputDescriptor.withdraw(descriptor.buffer());
    return new PublishedOutput(output, lengthBytes, generation, descriptor, seal, room);
  }

  /**
   * ANNOUNCED to READABLE. The caller has taken the room; if this fails in any way it is given back, and
   * the output will never be readable. May take seconds, in which other threads can withdraw it.
   */
  void register(ProtectionDomain domain, int access) throws NotPublishedException {
    RegisteredFile opened = null;
    try {
      requireWaiting();
      opened = RegisteredFile.open(domain, path, lengthBytes, access);
      serve(opened);
    } catch (NotPublishedException | Error e) {
      giveBackAfter(e, opened);
      throw e;
    } catch (IOException | RuntimeException e) {
      giveBackAfter(e, opened);
      throw new NotPublishedException(
          UnpublishedReason.REGISTRATION, "cannot register " + path + ": " + e.getMessage(), e);
    }
  }

  private synchronized MapOutputFile requireWaiting() throws NotPublishedException {
    if (waiting == null) {
      throw new NotPublishedException(
          UnpublishedReason.REMOVED, "it was withdrawn while it was being registered");
    }
    return waiting;
  }

  private synchronized void serve(RegisteredFile opened) throws NotPublishedException {
    describe(requireWaiting(), opened.region());
    waiting = null;
    data = opened;
    readable = true;
  }

  private void giveBackAfter(Throwable failure, @Nullable RegisteredFile opened) {
    withdraw();
    try {
      if (opened != null) {
        opened.close();
      }
      room.giveBack(lengthBytes);
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
    return Objects.requireNonNull(path.getParent());
  }

  synchronized boolean isRegistered() {
    return data != null;
  }

  synchronized boolean isReadable() {
    return readable;
  }

  long lengthBytes() {
    return lengthBytes;
  }

  /** New readers find no output from now on; READs under way still succeed. */
  synchronized void withdraw() {
    if (readable) { // else the descriptor says so since it was announced, or is gone
      MapOutputDescriptor.withdraw(descriptor.buffer());
    }
    waiting = null;
    readable = false;
  }

  /**
   * LEAVING to GONE; true if there was something to give back, whose room the caller then gives
   * back. What could not be deregistered stays as it is and counted: the device may still
   * serve those addresses.
   */
  boolean release() throws IOException {
    RegisteredFile taken = takeData();
    if (taken == null) {
      return false;
    }
    taken.close();
    return true;
  }

  private synchronized @Nullable RegisteredFile takeData() {
    RegisteredFile taken = data;
    data = null;
    return taken;
  }

  /** Frees the descriptor, too; the data has been released before. */
  void close() {
    descriptor.close();
  }
}
