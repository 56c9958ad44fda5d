/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.AwaitedCompletion;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TcpReason;

/**
 * Streams one block to its sink, piece by piece, in the calling worker. A piece whose connection
 * breaks is read once more on a new one; the sink receives every byte once and in order.
 */
final class StreamedFetch {
  private static final int PIECE_BYTES = 4 << 20;

  private final FetchContext context;
  private final DescriptorReader descriptors;
  private final PeerId peer;
  private final PendingBlock block;
  private final BlockSink sink;
  private final Outcomes outcomes;
  private final Connect connect;
  private final BlockVerifier verifier;
  private long checksumNs;

  interface Connect {
    Connection connect() throws NoConnectionException, InterruptedException;
  }

  StreamedFetch(
      FetchContext context,
      DescriptorReader descriptors,
      PeerId peer,
      PendingBlock block,
      BlockSink sink,
      Outcomes outcomes,
      Connect connect) {
    this.context = context;
    this.descriptors = descriptors;
    this.peer = peer;
    this.block = block;
    this.sink = sink;
    this.outcomes = outcomes;
    this.connect = connect;
    this.verifier = block.descriptor().verifier(block.request);
  }

  void run() throws InterruptedException {
    try {
      long lengthBytes = block.lengthBytes();
      long done = 0;
      while (done < lengthBytes && !outcomes.isCancelled()) {
        int piece = (int) Math.min(lengthBytes - done, pieceBytes());
        bring(done, piece);
        done += piece;
      }
      if (done < lengthBytes) {
        return;
      }
      context.stats().checksumTimes.record(checksumNs);
      if (verifier.isComplete()) {
        outcomes.deliverStreamed(block, lengthBytes);
      } else {
        context.stats().checksumMismatches.increment();
        context.forget(peer, block);
        fail(TcpReason.CHECKSUM, new IOException("the checksum of the block did not match"));
      }
    } catch (Failure e) {
      fail(e.reason, e.why);
    }
  }

  private int pieceBytes() {
    return Math.min(PIECE_BYTES, context.planLimits().maxReadBytes());
  }

  private void fail(TcpReason reason, Throwable cause) {
    outcomes.fail(block, reason, cause);
  }

  private void bring(long offset, int lengthBytes) throws Failure, InterruptedException {
    ReadFailure failure = tryBring(offset, lengthBytes);
    if (failure != null && failure.tcpReason() == TcpReason.CONNECTION_LOST) {
      context.stats().retries.increment();
      failure = tryBring(offset, lengthBytes);
    }
    if (failure == null) {
      return;
    }
    if (failure.hasCulprit()) {
      context.forget(peer, block);
    }
    throw new Failure(failure.tcpReason(), new ReadsFailedException(failure, List.of(block)));
  }

  /** Uses a new buffer for each try, because a READ that failed may still write to its buffer. */
  private @Nullable ReadFailure tryBring(long offset, int lengthBytes)
      throws Failure, InterruptedException {
    RegisteredBuffer buffer;
    try {
      buffer = context.buffers().acquire(lengthBytes, context.poolDeadline());
    } catch (IOException e) {
      throw new Failure(TcpReason.POOL, e);
    }
    try {
      ReadFailure failure = read(offset, lengthBytes, buffer);
      if (failure == null) {
        handOver(buffer.nioBuffer(0, lengthBytes));
      }
      return failure;
    } finally {
      buffer.release();
    }
  }

  private @Nullable ReadFailure read(long offset, int lengthBytes, RegisteredBuffer buffer)
      throws Failure, InterruptedException {
    AwaitedCompletion completion = new AwaitedCompletion(context.poller());
    try {
      Connection connection = connect.connect();
      renewLease(connection);
      Deadline deadline = context.progressDeadline();
      while (!post(connection, offset, lengthBytes, buffer, completion, deadline)) {
        renewLease(connection);
      }
      return completion.await(deadline);
    } catch (ReadsFailedException e) {
      return e.failure();
    } catch (NoConnectionException e) {
      return ReadFailure.collateral(e);
    } catch (TimeoutException e) {
      throw new Failure(TcpReason.TIMEOUT, e);
    }
  }

  /** Returns false if the lease ended before the send queue had room. */
  private boolean post(
      Connection connection,
      long offset,
      int lengthBytes,
      RegisteredBuffer buffer,
      AwaitedCompletion completion,
      Deadline deadline)
      throws NoConnectionException, TimeoutException, InterruptedException {
    KnownDescriptor at = block.descriptor();
    long remoteAddress = at.remoteAddress(block.request) + offset;
    Read read = new Read(remoteAddress, at.header().dataRkey(), lengthBytes, 0);
    long waitedNs =
        FetchContext.post(connection, List.of(read), buffer, completion, at.lease(), deadline);
    return waitedNs != FetchContext.LEASE_ENDED;
  }

  /** Reads the descriptor again if its lease is over: the owner may have withdrawn the output. */
  private void renewLease(Connection connection)
      throws Failure, ReadsFailedException, NoConnectionException, InterruptedException,
          TimeoutException {
    List<Failure> refusals = new ArrayList<>();
    descriptors.resolve(
        connection,
        List.of(block),
        (refused, reason, why) -> refusals.add(new Failure(reason, why)));
    if (!refusals.isEmpty()) {
      throw refusals.get(0);
    }
  }

  private void handOver(ByteBuffer bytes) throws Failure {
    long startNs = System.nanoTime();
    verifier.update(bytes.duplicate());
    checksumNs += System.nanoTime() - startNs;
    try {
      sink.write(bytes);
    } catch (IOException e) {
      throw new Failure(TcpReason.SINK, e);
    }
  }

  private static final class Failure extends Exception {
    private static final long serialVersionUID = 1L;

    final TcpReason reason;
    final IOException why;

    Failure(TcpReason reason, Exception cause) {
      super(cause);
      this.reason = reason;
      this.why = cause instanceof IOException io ? io : new IOException(cause);
    }
  }
}
