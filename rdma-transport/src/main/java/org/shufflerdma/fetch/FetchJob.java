/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.PeerFailure;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fetches the blocks of one request, from connecting to delivery. Its steps run in the fetcher's
 * workers, where they may block; completions run in the poller, where they verify and deliver. READs
 * that a broken connection interrupted are repeated once on a new one; the READ that broke it is not.
 */
final class FetchJob {
  private static final Logger LOG = LoggerFactory.getLogger(FetchJob.class);
  private static final int MAX_ATTEMPTS = 2;

  private final FetchContext context;
  private final DescriptorReader descriptors;
  private final PeerId peer;
  private final @Nullable InetSocketAddress tcpAddress;
  private final FetchToken token;
  private final Outcomes outcomes;

  FetchJob(
      FetchContext context,
      DescriptorReader descriptors,
      PeerId peer,
      @Nullable InetSocketAddress tcpAddress,
      FetchToken token,
      Outcomes outcomes) {
    this.context = context;
    this.descriptors = descriptors;
    this.peer = peer;
    this.tcpAddress = tcpAddress;
    this.token = token;
    this.outcomes = outcomes;
  }

  void start(List<PendingBlock> blocks) {
    inLane(() -> run(blocks, 1, null));
  }

  private void inLane(Runnable step) {
    context.lanes().execute(peer, step);
  }

  /**
   * @param postBy until when the first list of READs must be posted; null if that time begins when
   *     the descriptors have been read
   */
  private void run(List<PendingBlock> blocks, int attempt, @Nullable Deadline postBy) {
    try {
      if (context.closed().getAsBoolean()) {
        outcomes.failAll(blocks, TcpReason.CLOSED, new IOException("the fetcher is closed"));
      } else if (!outcomes.isCancelled()) {
        fetch(blocks, attempt, postBy);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      outcomes.failAll(blocks, TcpReason.CLOSED, e);
    } catch (RuntimeException | Error e) {
      LOG.error("The fetch from {} failed unexpectedly", peer, e);
      outcomes.failAll(blocks, TcpReason.INTERNAL, e);
    }
  }

  private void fetch(List<PendingBlock> blocks, int attempt, @Nullable Deadline postBy)
      throws InterruptedException {
    Connection connection;
    try {
      connection = connect();
      descriptors.resolve(connection, blocks, outcomes::fail);
    } catch (ReadsFailedException e) {
      afterFailure(e.failure(), e.culprits(), blocks, attempt);
      return;
    } catch (NoConnectionException e) {
      afterBreakage(e.failure(), blocks, attempt, e);
      return;
    } catch (TimeoutException e) {
      outcomes.failAll(blocks, TcpReason.TIMEOUT, e);
      return;
    }
    fetchResolved(
        connection, blocks, attempt, postBy == null ? context.progressDeadline() : postBy);
  }

  private Connection connect() throws NoConnectionException, InterruptedException {
    return context
        .connections()
        .connect(peer, tcpAddress, outcomes::isCancelled, context.progressDeadline());
  }

  private void fetchResolved(
      Connection connection, List<PendingBlock> blocks, int attempt, Deadline postBy)
      throws InterruptedException {
    List<PendingBlock> inMemory = new ArrayList<>();
    List<StreamedFetch> streamed = new ArrayList<>();
    for (PendingBlock block : blocks) {
      if (!block.isPending()) {
        continue;
      }
      BlockSink sink = block.request.sink();
      if (block.lengthBytes() == 0) {
        outcomes.deliverEmpty(block);
      } else if (sink != null) {
        streamed.add(
            new StreamedFetch(context, descriptors, peer, block, sink, outcomes, this::connect));
      } else if (context.fitsInMemory(block.lengthBytes())) {
        inMemory.add(block);
      } else {
        outcomes.fail(
            block,
            TcpReason.TOO_LARGE,
            new IOException(
                "a block of " + block.lengthBytes() + " bytes does not fit into one buffer"));
      }
    }
    post(connection, inMemory, attempt, postBy);
    for (StreamedFetch fetch : streamed) {
      fetch.run();
    }
  }

  private void post(Connection connection, List<PendingBlock> blocks, int attempt, Deadline postBy)
      throws InterruptedException {
    List<ReadPlan.Extent> extents = new ArrayList<>();
    for (int i = 0; i < blocks.size(); i++) {
      PendingBlock block = blocks.get(i);
      KnownDescriptor at = block.descriptor();
      extents.add(new ReadPlan.Extent(
          i, at.remoteAddress(block.request), at.header().dataRkey(), block.lengthBytes()));
    }
    List<ReadPlan.ReadList> lists = ReadPlan.of(extents, context.planLimits());
    Deadline patience = context.poolDeadline();
    Deadline deadline = postBy;
    for (int i = 0; i < lists.size() && !outcomes.isCancelled(); i++) {
      RegisteredBuffer sink = bufferFor(lists.get(i), blocks, patience);
      if (sink == null) {
        continue; // an empty pool must not keep each list waiting
      }
      try {
        if (!post(connection, lists.get(i), sink, blocks, attempt, deadline)) {
          List<PendingBlock> rest = unposted(lists, i, blocks);
          Deadline restBy = deadline;
          inLane(() -> run(rest, attempt, restBy)); // reads the descriptors again
          return;
        }
      } catch (NoConnectionException e) {
        afterBreakage(e.failure(), unposted(lists, i, blocks), attempt, e);
        return;
      } catch (TimeoutException e) {
        outcomes.failAll(unposted(lists, i, blocks), TcpReason.TIMEOUT, e);
        return;
      }
      patience = context.poolDeadline();
      deadline = context.progressDeadline();
    }
  }

  private static Deadline leaseOf(ReadPlan.ReadList list, List<PendingBlock> blocks) {
    return blocksOf(list, blocks).stream()
        .map(block -> block.descriptor().lease())
        .reduce(Deadline::orSooner)
        .orElseThrow();
  }

  private static List<PendingBlock> unposted(
      List<ReadPlan.ReadList> lists, int from, List<PendingBlock> blocks) {
    return lists.subList(from, lists.size()).stream()
        .flatMap(list -> blocksOf(list, blocks).stream())
        .filter(PendingBlock::isPending)
        .toList();
  }

  /** Returns null if no buffer became free in time; the list's blocks have been failed then. */
  private @Nullable RegisteredBuffer bufferFor(
      ReadPlan.ReadList list, List<PendingBlock> blocks, Deadline patience)
      throws InterruptedException {
    try {
      return context.buffers().acquire(list.bufferBytes(), patience);
    } catch (IOException e) {
      outcomes.failAll(blocksOf(list, blocks), TcpReason.POOL, e);
      return null;
    }
  }

  /** Ends the caller's hold on the buffer. False if the lease ended before there was room. */
  private boolean post(
      Connection connection,
      ReadPlan.ReadList list,
      RegisteredBuffer sink,
      List<PendingBlock> blocks,
      int attempt,
      Deadline deadline)
      throws NoConnectionException, TimeoutException, InterruptedException {
    boolean posted = false;
    try {
      token.hold(sink);
      ListCompletion completion = new ListCompletion(list, blocks, sink, attempt);
      long waitedNs = FetchContext.post(
          connection, list.reads(), sink, completion, leaseOf(list, blocks), deadline);
      posted = waitedNs != FetchContext.LEASE_ENDED;
      return posted;
    } finally {
      if (!posted) {
        token.letGo(sink);
      }
      sink.release();
    }
  }

  private static List<PendingBlock> blocksOf(ReadPlan.ReadList list, List<PendingBlock> blocks) {
    return list.placements().stream()
        .map(placement -> blocks.get(placement.item()))
        .toList();
  }

  /** One posted list. The poller, or whoever destroys the connection, tells it its outcome. */
  private final class ListCompletion implements ReadCompletion {
    private final ReadPlan.ReadList list;
    private final List<PendingBlock> blocks;
    private final RegisteredBuffer sink;
    private final int attempt;

    ListCompletion(
        ReadPlan.ReadList list, List<PendingBlock> blocks, RegisteredBuffer sink, int attempt) {
      this.list = list;
      this.blocks = blocks;
      this.sink = sink;
      this.attempt = attempt;
    }

    @Override
    public void succeeded() {
      if (!token.claim(sink)) {
        return;
      }
      try {
        for (ReadPlan.Placement placement : list.placements()) {
          deliver(blocks.get(placement.item()), placement);
        }
      } finally {
        sink.release();
      }
    }

    private void deliver(PendingBlock block, ReadPlan.Placement placement) {
      try {
        if (!outcomes.isCancelled() && !outcomes.deliver(block, sink, placement)) {
          inLane(() -> afterMismatch(block, attempt));
        }
      } catch (Throwable t) {
        failUndelivered(block, t);
      }
    }

    /** Fails the block in a worker, where the listener may block, or here if memory is short. */
    private void failUndelivered(PendingBlock block, Throwable why) {
      try {
        inLane(() -> outcomes.failUndelivered(block, why));
      } catch (OutOfMemoryError e) {
        outcomes.failUndelivered(block, why);
      }
    }

    @Override
    public void failed(ReadFailure failure) {
      token.letGo(sink);
      List<PendingBlock> culprits = failure.hasCulprit()
          ? list.itemsOf(failure.culprit()).stream().map(blocks::get).toList()
          : List.of();
      inLane(() -> afterFailure(failure, culprits, blocksOf(list, blocks), attempt));
    }
  }

  private void afterMismatch(PendingBlock block, int attempt) {
    context.forget(peer, block);
    block.unresolve();
    if (block.mayBeReadAgain()) {
      context.stats().retries.increment();
      run(List.of(block), attempt, null);
    } else {
      outcomes.fail(
          block,
          TcpReason.CHECKSUM,
          new IOException("the checksum of " + block.request + " did not match twice"));
    }
  }

  private void afterFailure(
      ReadFailure failure, List<PendingBlock> culprits, List<PendingBlock> blocks, int attempt) {
    ReadsFailedException cause = new ReadsFailedException(failure, culprits);
    for (PendingBlock culprit : culprits) {
      context.forget(peer, culprit);
      outcomes.fail(culprit, failure.tcpReason(), cause);
    }
    Set<PendingBlock> blamed = new HashSet<>(culprits);
    List<PendingBlock> others =
        blocks.stream().filter(block -> !blamed.contains(block)).toList();
    afterBreakage(failure.breakage().failure(), others, attempt, cause);
  }

  private void afterBreakage(
      PeerFailure failure, List<PendingBlock> blocks, int attempt, IOException cause) {
    List<PendingBlock> pending = blocks.stream().filter(PendingBlock::isPending).toList();
    if (pending.isEmpty()) {
      return;
    }
    if (attempt < MAX_ATTEMPTS && failure.isWorthReconnecting()) {
      context.stats().retries.increment();
      run(pending, attempt + 1, null);
    } else {
      outcomes.failAll(pending, failure.tcpReason(), cause);
    }
  }
}
