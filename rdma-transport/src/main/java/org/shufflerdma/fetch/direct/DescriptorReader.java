/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.AwaitedCompletion;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.descriptor.KnownDescriptor;
import org.shufflerdma.fetch.descriptor.Neighbourhoods;
import org.shufflerdma.fetch.read.FetchStats;
import org.shufflerdma.fetch.read.ReadLimits;
import org.shufflerdma.fetch.read.ReadList;
import org.shufflerdma.location.InvalidDescriptorException;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TcpReason;

/**
 * Reads the descriptors that blocks need and the cache does not have: the header, and the entries of the
 * blocks with those of their neighbours ({@link Neighbourhoods}). Of a descriptor whose lease is over it reads the header alone. The
 * lists of a call are in flight together, as far as there are buffers; the caller blocks until the
 * last one has completed.
 */
final class DescriptorReader {
  private final FetchContext context;
  private final Runnable whileWaiting;

  /** @param whileWaiting called about every 100 ms while the task waits; what it throws ends the wait */
  DescriptorReader(FetchContext context, Runnable whileWaiting) {
    this.context = context;
    this.whileWaiting = whileWaiting;
  }

  /** Is told which blocks have an invalid descriptor, or one for which no buffer came in time. */
  interface Refusal {
    void refuse(int block, TcpReason reason, IOException why);
  }

  /** A list of READs of descriptors failed. The culprits are the blocks whose READ broke the connection, if any. */
  static final class ReadsFailedException extends IOException {
    private static final long serialVersionUID = 1L;

    private final transient ReadFailure failure;
    private final transient List<Integer> culprits;

    /** @param culprits by their numbers in the peer's blocks */
    ReadsFailedException(ReadFailure failure, List<Integer> culprits) {
      super(failure.toString(), failure.breakage());
      this.failure = failure;
      this.culprits = culprits;
    }

    ReadFailure failure() {
      return failure;
    }

    List<Integer> culprits() {
      return culprits;
    }
  }

  /** The part of one descriptor that a number of the peer's blocks need. */
  private static final class Wanted {
    final DescriptorRef descriptor;
    final @Nullable KnownDescriptor known;
    final List<Integer> blocks = new ArrayList<>();
    int startPartition = Integer.MAX_VALUE;
    int endPartition;

    @Nullable
    ByteBuffer header;

    @Nullable
    ByteBuffer entries;

    /** Until when what was read may be relied upon; it begins before the first READ. */
    @Nullable
    Deadline lease;

    /** Why a part of it could not be read. */
    @Nullable
    IOException noBuffer;

    Wanted(DescriptorRef descriptor, @Nullable KnownDescriptor known) {
      this.descriptor = descriptor;
      this.known = known;
    }

    /** Also with its neighbours: as many as {@code width}, a power of two, from a multiple of it on. */
    void add(PeerBlocks peer, int block, int width) {
      blocks.add(block);
      startPartition = Math.min(startPartition, peer.startPartition(block) & -width);
      int end = ((peer.endPartition(block) - 1) & -width) + width;
      endPartition = Math.max(endPartition, Math.min(end, descriptor.partitions()));
    }

    boolean needsEntries() {
      return known == null || !known.covers(startPartition, endPartition);
    }

    boolean isRead() {
      return header != null && (entries != null || !needsEntries());
    }
  }

  /** The header of a descriptor or the entries of it, and where they come to in the buffer of their batch. */
  private record Part(Wanted of, boolean isHeader, long offset, int lengthBytes) {}

  /** What comes into one buffer. */
  private static final class Batch {
    final ReadList reads = new ReadList(0);
    final List<Part> parts = new ArrayList<>();

    boolean add(Wanted of, boolean isHeader, long fromByte, int lengthBytes, ReadLimits limits) {
      DescriptorRef at = of.descriptor;
      long offset = reads.lengthBytes();
      return reads.add(at.address() + fromByte, at.rkey(), lengthBytes, limits)
          && parts.add(new Part(of, isHeader, offset, lengthBytes));
    }
  }

  private record InFlight(Batch batch, RegisteredBuffer sink, AwaitedCompletion completion) {
    void copy(Part part) {
      ByteBuffer copy = ByteBuffer.allocate(part.lengthBytes)
          .put(sink.nioBuffer(part.offset, part.lengthBytes))
          .flip();
      if (part.isHeader) {
        part.of.header = copy;
      } else {
        part.of.entries = copy;
      }
    }
  }

  /**
   * Resolves or refuses each block as far as there are buffers.
   *
   * @param blocks by their numbers in the peer's
   * @param owners whose map outputs the task reads
   * @return false if some blocks must wait until the task gives back a buffer
   */
  boolean resolve(
      Connection connection,
      PeerBlocks peer,
      List<Integer> blocks,
      int owners,
      TaskBuffers buffers,
      Refusal refusal)
      throws ReadsFailedException, NoConnectionException, InterruptedException, TimeoutException {
    Nonce bootNonce = connection.peer().endpoint().bootNonce();
    List<Wanted> wanted = missing(bootNonce, peer, blocks, owners);
    if (wanted.isEmpty()) {
      return true;
    }
    boolean all = new Reads(connection, wanted, buffers, context.progressDeadline()).carryOut();
    for (Wanted one : wanted) {
      settle(bootNonce, peer, one, refusal);
    }
    return all;
  }

  private List<Wanted> missing(Nonce bootNonce, PeerBlocks peer, List<Integer> blocks, int owners) {
    Map<DescriptorRef, Wanted> wanted = new LinkedHashMap<>();
    for (int block : blocks) {
      DescriptorRef descriptor = peer.output(block);
      KnownDescriptor known = context.cache().find(bootNonce, descriptor);
      if (known != null
          && !known.lease().expired()
          && known.covers(peer.startPartition(block), peer.endPartition(block))) {
        peer.resolve(block, known);
      } else {
        int width = context
            .cache()
            .neighbourhoods()
            .widthAround(descriptor.shuffleId(), peer.startPartition(block), owners);
        wanted.computeIfAbsent(descriptor, ref -> new Wanted(ref, known)).add(peer, block, width);
      }
    }
    return List.copyOf(wanted.values());
  }

  private Deque<Batch> plan(List<Wanted> wanted) {
    Deque<Batch> batches = new ArrayDeque<>();
    for (Wanted one : wanted) {
      add(batches, one, true, 0, MapOutputDescriptor.HEADER_BYTES);
      if (one.needsEntries()) {
        long from = MapOutputDescriptor.entryAt(one.startPartition);
        long end = MapOutputDescriptor.entryAt(one.endPartition + 1L);
        add(batches, one, false, from, Math.toIntExact(end - from));
      }
    }
    return batches;
  }

  private void add(
      Deque<Batch> batches, Wanted of, boolean isHeader, long fromByte, int lengthBytes) {
    ReadLimits limits = context.readLimits();
    Batch last = batches.peekLast();
    if (last == null || !last.add(of, isHeader, fromByte, lengthBytes, limits)) {
      Batch next = new Batch();
      if (!next.add(of, isHeader, fromByte, lengthBytes, limits)) {
        throw new IllegalArgumentException("%d bytes of %s need more READs than a list may have"
            .formatted(lengthBytes, of.descriptor));
      }
      batches.add(next);
    }
  }

  /** The READs of one call. */
  private final class Reads {
    private final Connection connection;
    private final List<Wanted> wanted;
    private final TaskBuffers buffers;
    private final Deadline deadline;
    private final Deque<InFlight> inFlight = new ArrayDeque<>();

    Reads(Connection connection, List<Wanted> wanted, TaskBuffers buffers, Deadline deadline) {
      this.connection = connection;
      this.wanted = wanted;
      this.buffers = buffers;
      this.deadline = deadline;
    }

    /** False if some were not carried out because the task is to give back a buffer first. */
    boolean carryOut()
        throws ReadsFailedException, NoConnectionException, InterruptedException, TimeoutException {
      try {
        boolean all = beginAll();
        while (!inFlight.isEmpty()) {
          finishFirst();
        }
        return all;
      } finally {
        inFlight.forEach(flight -> flight.sink.release());
      }
    }

    private boolean beginAll()
        throws ReadsFailedException, NoConnectionException, InterruptedException, TimeoutException {
      for (Batch batch : plan(wanted)) {
        if (!begin(batch)) {
          return false;
        }
      }
      return true;
    }

    /**
     * Posts a batch, for whose buffer it waits only after those of the batches before have gone back, or
     * notes that none came in time. False if the task is to give back a buffer first.
     */
    private boolean begin(Batch batch)
        throws ReadsFailedException, NoConnectionException, InterruptedException, TimeoutException {
      while (true) {
        RegisteredBuffer sink;
        try {
          sink = buffers.lease(batch.reads.lengthBytes(), !inFlight.isEmpty());
        } catch (IOException e) {
          batch.parts.forEach(part -> part.of.noBuffer = e);
          return true;
        }
        if (sink != null) {
          inFlight.add(post(batch, sink));
          return true;
        }
        if (inFlight.isEmpty()) {
          return false;
        }
        finishFirst();
      }
    }

    private InFlight post(Batch batch, RegisteredBuffer sink)
        throws NoConnectionException, InterruptedException, TimeoutException {
      Deadline lease = Deadline.afterMs(context.leaseMs());
      for (Part part : batch.parts) {
        part.of.lease = part.of.lease == null ? lease : part.of.lease;
      }
      AwaitedCompletion completion = new AwaitedCompletion(context.poller());
      try {
        connection.postControl(batch.reads.reads(), sink, completion, deadline);
      } catch (Throwable t) {
        sink.release();
        throw t;
      }
      return new InFlight(batch, sink, completion);
    }

    /** Copies what the first batch has brought, as others may need its buffer. */
    private void finishFirst() throws ReadsFailedException, InterruptedException, TimeoutException {
      InFlight flight = inFlight.element();
      ReadFailure failure = flight.completion.await(deadline, whileWaiting);
      if (failure != null) {
        throw new ReadsFailedException(failure, culprits(failure, flight.batch));
      }
      flight.batch.parts.forEach(flight::copy);
      inFlight.remove();
      flight.sink.release();
    }

    private static List<Integer> culprits(ReadFailure failure, Batch batch) {
      if (!failure.hasCulprit()) {
        return List.of();
      }
      int read = failure.culprit();
      return batch.parts.stream()
          .filter(part -> batch.reads.brings(read, part.offset, part.offset + part.lengthBytes))
          .map(part -> part.of)
          .distinct()
          .flatMap(one -> one.blocks.stream())
          .toList();
    }
  }

  private void settle(Nonce bootNonce, PeerBlocks peer, Wanted wanted, Refusal refusal) {
    IOException noBuffer = wanted.noBuffer;
    if (noBuffer != null) {
      wanted.blocks.forEach(block -> refusal.refuse(block, TcpReason.POOL, noBuffer));
    } else if (wanted.isRead()) {
      decode(bootNonce, peer, wanted, refusal);
    }
  }

  private void decode(Nonce bootNonce, PeerBlocks peer, Wanted wanted, Refusal refusal) {
    try {
      KnownDescriptor known = decode(wanted);
      context.cache().put(bootNonce, wanted.descriptor, known);
      wanted.blocks.forEach(block -> peer.resolve(block, known));
    } catch (InvalidDescriptorException e) {
      wanted.blocks.forEach(block -> refusal.refuse(block, e.tcpReason(), e));
    }
  }

  private KnownDescriptor decode(Wanted wanted) throws InvalidDescriptorException {
    FetchStats stats = context.stats();
    (wanted.needsEntries() ? stats.descriptorsRead : stats.descriptorsRenewed).increment();
    if (wanted.header == null
        || wanted.lease == null
        || (wanted.entries == null && wanted.needsEntries())) {
      throw new IllegalStateException("a list of READs completed without its header or entries");
    }
    KnownDescriptor known = decodeHeader(wanted, wanted.header, wanted.lease);
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
