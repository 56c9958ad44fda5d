/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connecting;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.PeerInterest;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.descriptor.KnownDescriptor;
import org.shufflerdma.fetch.descriptor.Neighbourhoods;
import org.shufflerdma.fetch.descriptor.Pieces;

/**
 * The blocks of one peer that a task reads, and how far it has got with them. The task fills it and
 * gives it to one {@link DirectFetch}, which owns it from then on. Numbers of blocks count from 0 in
 * the order in which they were added.
 */
public final class PeerBlocks {
  private static final int INITIAL_BLOCKS = 16;

  private PeerId peer;
  private boolean moved;
  final @Nullable InetSocketAddress tcpAddress;

  private DescriptorRef[] outputs = new DescriptorRef[INITIAL_BLOCKS];
  private int[] startPartitions = new int[INITIAL_BLOCKS];
  private int[] endPartitions = new int[INITIAL_BLOCKS];
  private @Nullable KnownDescriptor[] known = new KnownDescriptor[INITIAL_BLOCKS];
  private int size;

  private int neverPosted;
  private final Queue<Integer> toRepeat = new ArrayDeque<>();
  private final BitSet repeated = new BitSet();
  private final BitSet dropped = new BitSet();

  /** Blocks that are not to be read from where they are registered, and those of them to be asked for. */
  private final BitSet staged = new BitSet();

  private final Queue<Integer> toStage = new ArrayDeque<>();

  /** When blocks were first tried that did not come then, in {@link System#nanoTime}. */
  private final Map<Integer, Long> attempts = new HashMap<>();

  /** The same of all blocks that have not been tried, while the task tries. */
  private long triesSinceNs;

  private boolean tries;

  /** The blocks that are handed out piece by piece; null if there are none. */
  private @Nullable Map<Integer, Pieces> inPieces;

  /** Those of them that are not over yet. */
  private final BitSet piecesToCome = new BitSet();

  int blocksInFlight;
  long readNs;

  /** Attempts to connect that failed since a list was read. */
  int failedConnects;

  /** Connections that were asked for since a list was read. */
  int connections;

  /** Control connections that were asked for, or have ended, since a block was staged. */
  int controlConnections;

  /**
   * The attempt to make a control connection whose outcome the task wants to know: why there is no connection, or null if there is
   * one, or nobody needs it any more.
   */
  @Nullable
  CompletableFuture<@Nullable Throwable> controlAttempt;

  /** Loans that were over before they could be read, since a block was staged and read. */
  int stagedInVain;

  final PlaceWait placeWait = new PlaceWait();

  /** How many blocks are asked for in one loan, by what fitted before. */
  int blocksOfALoan = StagedPoster.MAX_BLOCKS_OF_A_LOAN;

  /** The search for the node service of the peer's host; null while there is none. */
  ServiceRoute.@Nullable Search search;

  /** Whether a search has found none. */
  boolean hasNoService;

  /** Whether the service was searched once more, as it could not be reached where it had been found. */
  boolean searchedAgain;

  /** The attempt to connect whose outcome the task wants to know. */
  @Nullable
  Connecting attempt;

  /** Until when the task waits for a place for that connection. */
  Deadline placeBy = Deadline.afterMs(0);

  /** Whether the blocks wait for their turn to be posted, or for a connection. */
  boolean isInLine;

  /** The task's interest in the peer while it has blocks to read; null else. */
  @Nullable
  PeerInterest interest;

  /**
   * @param tcpAddress address of the peer's host, which is probed to tell a lost peer from one whose
   *     RDMA failed; null if it is not known
   */
  public PeerBlocks(PeerId peer, @Nullable InetSocketAddress tcpAddress) {
    this.peer = peer;
    this.tcpAddress = tcpAddress;
  }

  /** The executor that has the blocks, or the node service that they have been moved to. */
  PeerId peer() {
    return peer;
  }

  /** Whether the blocks that have not been read come from a node service. */
  boolean isMoved() {
    return moved;
  }

  /** From now on, a node service stages all blocks that have not been read. */
  void moveTo(PeerId service) {
    endInterest();
    peer = service;
    moved = true;
    while (hasMore()) {
      stage(take());
    }
    staged.set(0, size); // those in flight, if they are put back
    repeated.clear();
    failedConnects = 0;
    connections = 0;
    controlConnections = 0;
    attempt = null;
    controlAttempt = null;
    placeWait.ended();
    stagedInVain = 0;
  }

  /** Adds the partitions {@code [startPartition, endPartition)} of one map output as a block. */
  public void add(DescriptorRef output, int startPartition, int endPartition) {
    if (startPartition < 0
        || endPartition <= startPartition
        || endPartition > output.partitions()) {
      throw new IllegalArgumentException(
          "partitions %d..%d of %d".formatted(startPartition, endPartition, output.partitions()));
    }
    if (size == outputs.length) {
      int more = Math.multiplyExact(size, 2);
      outputs = Arrays.copyOf(outputs, more);
      startPartitions = Arrays.copyOf(startPartitions, more);
      endPartitions = Arrays.copyOf(endPartitions, more);
      known = Arrays.copyOf(known, more);
    }
    outputs[size] = output;
    startPartitions[size] = startPartition;
    endPartitions[size] = endPartition;
    if (!output.isRegistered()) {
      dropped.set(size);
      stage(size);
    }
    size++;
  }

  /** The same, for a block that is handed out piece by piece, in order, as it may be too large for memory. */
  public void addInPieces(DescriptorRef output, int startPartition, int endPartition) {
    add(output, startPartition, endPartition);
    if (inPieces == null) {
      inPieces = new HashMap<>();
    }
    inPieces.put(size - 1, new Pieces());
    piecesToCome.set(size - 1);
  }

  public int size() {
    return size;
  }

  /** How far the block has come that is handed out piece by piece; null if it is handed out whole. */
  @Nullable
  Pieces pieces(int block) {
    return inPieces == null ? null : inPieces.get(block);
  }

  boolean hasPieces() {
    return inPieces != null;
  }

  /** No more pieces of the block come. */
  void endPieces(int block) {
    piecesToCome.clear(block);
  }

  /** Whether all of the block has been taken with the bytes that came last. */
  boolean isOver(int block) {
    Pieces pieces = pieces(block);
    return pieces == null || pieces.isOver();
  }

  /** Notes which partitions a task reads, which are neighbours. There must be a block. Outputs with names have no descriptors. */
  void noteAsked(Neighbourhoods neighbourhoods) {
    if (!outputs[0].folder().isEmpty()) {
      return;
    }
    int start = startPartitions[0];
    int end = endPartitions[0];
    for (int block = 1; block < size; block++) {
      start = Math.min(start, startPartitions[block]);
      end = Math.max(end, endPartitions[block]);
    }
    neighbourhoods.asked(outputs[0].shuffleId(), start, end);
  }

  /** Whether all blocks have been read, or left, but for those that are put back later. */
  boolean isDone() {
    return blocksInFlight == 0 && !hasMore() && !hasMoreToStage() && piecesToCome.isEmpty();
  }

  void endInterest() {
    PeerInterest ending = interest;
    interest = null;
    if (ending != null) {
      ending.close();
    }
  }

  /**
   * The sum of the times in nanoseconds from planning a list of the blocks to its completion so far,
   * which may be noticed only when the task needs the next list.
   */
  public long readNs() {
    return readNs;
  }

  DescriptorRef output(int block) {
    return outputs[block];
  }

  int startPartition(int block) {
    return startPartitions[block];
  }

  int endPartition(int block) {
    return endPartitions[block];
  }

  /** Returns what is known of the block's map output, if that may still be relied upon. */
  @Nullable
  KnownDescriptor known(int block) {
    KnownDescriptor descriptor = known[block];
    return descriptor == null || descriptor.lease().expired() ? null : descriptor;
  }

  void resolve(int block, @Nullable KnownDescriptor descriptor) {
    known[block] = descriptor;
  }

  /** What is known of the block's map output, also if its lease is over. */
  KnownDescriptor descriptor(int block) {
    KnownDescriptor descriptor = known[block];
    if (descriptor == null) {
      throw new IllegalStateException("the descriptor of block " + block + " was not read");
    }
    return descriptor;
  }

  /** The block has been tried in vain, from that point on. The first attempt counts. */
  void noteAttempt(int block, long startNs) {
    attempts.putIfAbsent(block, startNs);
  }

  /** The task does what the next blocks need, from that point on. The first since {@link #haveCome} counts. */
  void tryFrom(long startNs) {
    if (!tries) {
      tries = true;
      triesSinceNs = startNs;
    }
  }

  /** Blocks have come, so that the task has not tried in vain. */
  void haveCome() {
    tries = false;
    failedConnects = 0;
    connections = 0;
  }

  /** Since when the block has been tried in vain; empty if it has not been. */
  OptionalLong triedSinceNs(int block) {
    Long startNs = attempts.get(block);
    if (startNs != null) {
      return OptionalLong.of(startNs);
    }
    return tries ? OptionalLong.of(triesSinceNs) : OptionalLong.empty();
  }

  boolean hasMore() {
    while (neverPosted < size && dropped.get(neverPosted)) {
      neverPosted++;
    }
    return !toRepeat.isEmpty() || neverPosted < size;
  }

  /** Returns the block that {@link #take} takes. There must be one. */
  int peek() {
    Integer again = toRepeat.peek();
    return again == null ? neverPosted : again;
  }

  int take() {
    Integer again = toRepeat.poll();
    return again == null ? neverPosted++ : again;
  }

  /** Calls the visitor with the blocks that are to be posted next, {@code max} at most. */
  void forEachToCome(int max, IntConsumer visitor) {
    toRepeat.stream().mapToInt(Integer::intValue).limit(max).forEach(visitor);
    int end = (int) Math.min(size, (long) neverPosted + Math.max(0, max - toRepeat.size()));
    for (int block = neverPosted; block < end; block++) {
      if (!dropped.get(block)) {
        visitor.accept(block);
      }
    }
  }

  /** Has a block that is not to be posted any more staged by its owner. */
  void stage(int block) {
    staged.set(block);
    toStage.add(block);
  }

  boolean hasMoreToStage() {
    return !toStage.isEmpty();
  }

  /** Takes the next block to be staged. There must be one. */
  int takeToStage() {
    return toStage.remove();
  }

  /** Takes a block out of those to be posted. */
  void drop(int block) {
    if (!toRepeat.remove(block) && block >= neverPosted) {
      dropped.set(block);
    }
  }

  /** Puts a block back that has been taken but not posted. */
  void putBack(int block) {
    (staged.get(block) ? toStage : toRepeat).add(block);
  }

  /** Has the next piece of a block read, which may be read twice, too. */
  void putBackForNextPiece(int block) {
    repeated.clear(block);
    putBack(block);
  }

  /**
   * Has the block, or its next piece, read once more; false if that has been done, or the pieces that have been handed out
   * are wrong.
   */
  boolean repeat(int block) {
    known[block] = null;
    Pieces pieces = pieces(block);
    if (repeated.get(block) || (pieces != null && pieces.isOver())) {
      return false;
    }
    repeated.set(block);
    putBack(block);
    return true;
  }
}
