/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.AwaitedCompletion;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.location.InvalidDescriptorException;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.memory.RegisteredBuffer;

/**
 * Reads the descriptors that blocks need and the cache does not have: the header, and the windows of
 * entries in which the blocks lie. Of a descriptor whose lease is over it reads the header alone. All
 * lists of a call are in flight together; the caller blocks until the last one has completed.
 */
final class DescriptorReader {
  private final FetchContext context;

  DescriptorReader(FetchContext context) {
    this.context = context;
  }

  /** Is told which blocks have an invalid descriptor. */
  interface Refusal {
    void refuse(PendingBlock block, InvalidDescriptorException why);
  }

  /** The part of one descriptor that a number of blocks need. */
  private static final class Wanted {
    final DescriptorRef descriptor;
    final @Nullable KnownDescriptor known;
    final List<PendingBlock> blocks = new ArrayList<>();
    int startPartition = Integer.MAX_VALUE;
    int endPartition;

    @Nullable
    ByteBuffer header;

    @Nullable
    ByteBuffer entries;

    Wanted(DescriptorRef descriptor, @Nullable KnownDescriptor known) {
      this.descriptor = descriptor;
      this.known = known;
    }

    /** Widens the partitions to whole windows. */
    void add(PendingBlock block) {
      blocks.add(block);
      BlockRequest request = block.request;
      startPartition =
          Math.min(startPartition, KnownDescriptor.windowStart(request.startPartition()));
      endPartition = Math.max(
          endPartition, KnownDescriptor.windowEnd(request.endPartition(), descriptor.partitions()));
    }

    boolean needsEntries() {
      return known == null || !known.covers(startPartition, endPartition);
    }
  }

  private record InFlight(
      ReadPlan.ReadList list, RegisteredBuffer sink, AwaitedCompletion completion) {}

  /** Resolves or refuses each block. */
  void resolve(Connection connection, List<PendingBlock> blocks, Refusal refusal)
      throws IOException, InterruptedException, TimeoutException {
    Nonce bootNonce = connection.peer().endpoint().bootNonce();
    List<Wanted> wanted = missing(bootNonce, blocks);
    if (wanted.isEmpty()) {
      return;
    }
    Deadline lease = context.descriptorLease();
    Deadline deadline = context.progressDeadline();
    List<InFlight> inFlight = new ArrayList<>();
    try {
      for (ReadPlan.ReadList list : plan(wanted)) {
        inFlight.add(post(connection, list, deadline));
      }
      for (InFlight flight : inFlight) {
        await(flight, wanted, deadline);
      }
      for (Wanted one : wanted) {
        decode(bootNonce, one, lease, refusal);
      }
    } finally {
      inFlight.forEach(flight -> flight.sink.release());
    }
  }

  private List<Wanted> missing(Nonce bootNonce, List<PendingBlock> blocks) {
    Map<DescriptorRef, Wanted> wanted = new LinkedHashMap<>();
    for (PendingBlock block : blocks) {
      BlockRequest request = block.request;
      DescriptorRef descriptor = request.descriptor();
      KnownDescriptor known = context.cache().find(bootNonce, descriptor);
      if (known != null
          && !known.lease().expired()
          && known.covers(request.startPartition(), request.endPartition())) {
        block.resolve(known);
      } else {
        wanted.computeIfAbsent(descriptor, ref -> new Wanted(ref, known)).add(block);
      }
    }
    return List.copyOf(wanted.values());
  }

  /** Item 2i is the header of the i-th descriptor, item 2i+1 its entries. */
  private List<ReadPlan.ReadList> plan(List<Wanted> wanted) {
    List<ReadPlan.Extent> extents = new ArrayList<>();
    for (int i = 0; i < wanted.size(); i++) {
      Wanted one = wanted.get(i);
      DescriptorRef at = one.descriptor;
      extents.add(
          new ReadPlan.Extent(2 * i, at.address(), at.rkey(), MapOutputDescriptor.HEADER_BYTES));
      if (one.needsEntries()) {
        long entriesAt = MapOutputDescriptor.entryAt(one.startPartition);
        long entriesEnd = MapOutputDescriptor.entryAt(one.endPartition + 1L);
        extents.add(new ReadPlan.Extent(
            2 * i + 1, at.address() + entriesAt, at.rkey(), entriesEnd - entriesAt));
      }
    }
    return ReadPlan.of(extents, context.planLimits());
  }

  private InFlight post(Connection connection, ReadPlan.ReadList list, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    RegisteredBuffer sink = context.buffers().acquire(list.bufferBytes(), context.poolDeadline());
    AwaitedCompletion completion = new AwaitedCompletion(context.poller());
    try {
      connection.postControl(list.reads(), sink, completion, deadline);
    } catch (Throwable t) {
      sink.release();
      throw t;
    }
    return new InFlight(list, sink, completion);
  }

  private void await(InFlight flight, List<Wanted> wanted, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    ReadFailure failure = flight.completion.await(deadline);
    if (failure != null) {
      throw new ReadsFailedException(failure, culprits(failure, flight.list, wanted));
    }
    for (ReadPlan.Placement placement : flight.list.placements()) {
      Wanted one = wanted.get(placement.item() / 2);
      ByteBuffer bytes =
          flight.sink.nioBuffer(placement.bufferOffset(), Math.toIntExact(placement.lengthBytes()));
      if (placement.item() % 2 == 0) {
        one.header = bytes;
      } else {
        one.entries = bytes;
      }
    }
  }

  private static List<PendingBlock> culprits(
      ReadFailure failure, ReadPlan.ReadList list, List<Wanted> wanted) {
    if (!failure.hasCulprit()) {
      return List.of();
    }
    return list.itemsOf(failure.culprit()).stream()
        .map(item -> wanted.get(item / 2))
        .distinct()
        .flatMap(one -> one.blocks.stream())
        .toList();
  }

  private void decode(Nonce bootNonce, Wanted wanted, Deadline lease, Refusal refusal) {
    try {
      KnownDescriptor known = decode(wanted, lease);
      context.cache().put(bootNonce, wanted.descriptor, known);
      wanted.blocks.forEach(block -> block.resolve(known));
    } catch (InvalidDescriptorException e) {
      wanted.blocks.forEach(block -> refusal.refuse(block, e));
    }
  }

  private KnownDescriptor decode(Wanted wanted, Deadline lease) throws InvalidDescriptorException {
    FetchStats stats = context.stats();
    (wanted.needsEntries() ? stats.descriptorsRead : stats.descriptorsRenewed).increment();
    if (wanted.header == null || (wanted.entries == null && wanted.needsEntries())) {
      throw new IllegalStateException("a list of READs completed without its header or entries");
    }
    KnownDescriptor known = decodeHeader(wanted, wanted.header, lease);
    return wanted.entries == null
        ? known
        : known.withEntries(wanted.entries, wanted.startPartition, wanted.endPartition);
  }

  /** The header's seal need not be checked again as long as the header stays what it was. */
  private KnownDescriptor decodeHeader(Wanted wanted, ByteBuffer bytes, Deadline lease)
      throws InvalidDescriptorException {
    if (wanted.known != null && wanted.known.hasHeader(bytes)) {
      return wanted.known.renewed(lease);
    }
    DescriptorRef expected = wanted.descriptor;
    MapOutputDescriptor.Header header =
        MapOutputDescriptor.decodeHeader(bytes, expected.address(), context.seal());
    if (wanted.entries == null) {
      throw new InvalidDescriptorException(
          "the header of " + expected + " has changed since its entries were read");
    }
    if (header.shuffleId() != expected.shuffleId()
        || header.mapId() != expected.mapId()
        || header.generation() != expected.generation()
        || header.partitions() != expected.partitions()) {
      throw new InvalidDescriptorException(
          "the descriptor is of shuffle %d, map %d, generation %d, %d partitions instead of %s"
              .formatted(
                  header.shuffleId(),
                  header.mapId(),
                  header.generation(),
                  header.partitions(),
                  expected));
    }
    return KnownDescriptor.of(header, bytes, lease);
  }
}
