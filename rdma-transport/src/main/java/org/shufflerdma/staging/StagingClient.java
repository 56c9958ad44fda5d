/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.control.MutualProof;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.control.ProvedClient;
import org.shufflerdma.metrics.LatencyHistogram;

/**
 * The reader's end of one control connection, for all tasks of this process that read from the peer. It
 * holds the credits that the peer has granted. Any thread may call.
 */
public final class StagingClient implements ControlChannel.Owner {
  private record Asked(StagedChunk chunk, StageRequest request, long askedNs) {}

  private final PeerId peer;
  private final Consumer<StagingClient> whenClosed;
  private final LatencyHistogram replyTimes;
  private @Nullable ControlChannel channel; // set once, before anybody else has the client

  // Guarded by this.
  private final BitSet freeChunks = new BitSet();
  private final Map<Long, Asked> asked = new HashMap<>();
  private final Set<Runnable> waiters = new LinkedHashSet<>();
  private @Nullable ChunkGrant grant;
  private long lastId;
  private @Nullable IOException end;

  private StagingClient(
      PeerId peer, Consumer<StagingClient> whenClosed, LatencyHistogram replyTimes) {
    this.peer = peer;
    this.whenClosed = whenClosed;
    this.replyTimes = replyTimes;
  }

  /**
   * Connects and proves itself. The credits come later, when the peer has some.
   *
   * @param whenClosed called once, by any thread, when the connection has ended
   * @param replyTimes is told how long each reply took
   */
  static StagingClient connect(
      PeerId peer,
      int port,
      MutualProof proof,
      ControlLoop loop,
      Consumer<StagingClient> whenClosed,
      LatencyHistogram replyTimes,
      Deadline deadline)
      throws IOException {
    ProvedClient proved = ProvedClient.connect(
        new InetSocketAddress(peer.endpoint().host(), port),
        StagingProof.HELLO,
        StagingProof.nameOf(peer.endpoint().bootNonce()),
        proof,
        StagingProof.contextOf(peer),
        deadline);
    try {
      StagingClient client = new StagingClient(peer, whenClosed, replyTimes);
      ControlChannel channel = proved.channel(loop, StageReply.MAX_BYTES, client);
      client.channel = channel;
      channel.start();
      return client;
    } catch (Throwable t) {
      proved.close();
      throw t;
    }
  }

  PeerId peer() {
    return peer;
  }

  /** There is one as soon as there is a chunk. */
  synchronized ChunkGrant grant() {
    if (grant == null) {
      throw new IllegalStateException(peer + " has granted nothing yet");
    }
    return grant;
  }

  public synchronized boolean isOpen() {
    return end == null;
  }

  public synchronized boolean hasGranted() {
    return grant != null;
  }

  /**
   * Takes a credit; null if none is free.
   *
   * @param wake called when the owner has answered, and if none is free also once when one may be; it must
   *     not block
   */
  public synchronized @Nullable StagedChunk tryTake(Runnable wake) {
    int free = freeChunks.nextSetBit(0);
    if (end != null) {
      return null;
    }
    if (free < 0) {
      waiters.add(wake);
      return null;
    }
    freeChunks.clear(free);
    return new StagedChunk(this, grant(), free, wake);
  }

  void giveBack(StagedChunk chunk) {
    synchronized (this) {
      freeChunks.set(chunk.index());
    }
    wakeWaiters();
  }

  private void wakeWaiters() {
    List<Runnable> waiting;
    synchronized (this) {
      waiting = List.copyOf(waiters);
      waiters.clear();
    }
    waiting.forEach(Runnable::run);
  }

  void ask(StagedChunk chunk, List<StagedRange> wanted, int maxBytes) {
    StageRequest request;
    IOException ended;
    synchronized (this) {
      ended = end;
      request = new StageRequest(++lastId, chunk.index(), maxBytes, wanted);
      if (ended == null) {
        asked.put(request.id(), new Asked(chunk, request, System.nanoTime()));
      }
    }
    if (ended != null) {
      chunk.failed(ended);
    } else {
      openChannel().send(request.encode());
    }
  }

  private ControlChannel openChannel() {
    ControlChannel open = channel;
    if (open == null) {
      throw new IllegalStateException("the client has no channel yet");
    }
    return open;
  }

  @Override
  public void received(ByteBuffer body) throws IOException {
    if (take(body)) {
      wakeWaiters();
    } else {
      receivedReply(body);
    }
  }

  /** The first frame is the grant. */
  private synchronized boolean take(ByteBuffer body) throws ProtocolException {
    if (grant != null) {
      return false;
    }
    grant = ChunkGrant.decode(body);
    freeChunks.set(0, grant.chunks());
    return true;
  }

  private void receivedReply(ByteBuffer body) throws ProtocolException {
    StageReply reply = StageReply.decode(body);
    Asked of;
    synchronized (this) {
      of = asked.remove(reply.id());
    }
    if (of == null) {
      throw new ProtocolException("a reply that nobody has asked for");
    }
    replyTimes.recordSince(of.askedNs());
    List<StagedChunk.Range> ranges;
    try {
      ranges = rangesOf(of.request(), reply);
    } catch (ProtocolException e) {
      of.chunk().failed(e);
      throw e;
    }
    of.chunk().answered(ranges);
  }

  private static List<StagedChunk.Range> rangesOf(StageRequest request, StageReply reply)
      throws ProtocolException {
    if (reply.entries().size() > request.ranges().size()) {
      throw new ProtocolException("a reply to more than was asked for");
    }
    List<StagedChunk.Range> ranges = new ArrayList<>(reply.entries().size());
    int offset = 0;
    for (int i = 0; i < reply.entries().size(); i++) {
      StageReply.Entry entry = reply.entries().get(i);
      long fromByte = request.ranges().get(i).fromByte();
      if (entry.isStaged() && entry.lengthBytes() < fromByte) {
        throw new ProtocolException(
            entry.lengthBytes() + " bytes of which those from " + fromByte + " on are staged");
      }
      long wanted = entry.isStaged() ? entry.lengthBytes() - fromByte : 0;
      long most = (long) request.maxBytes() - offset;
      boolean isOnly = reply.entries().size() == 1;
      if (entry.stagedBytes() != (isOnly ? Math.min(wanted, most) : wanted)
          || entry.stagedBytes() > most) {
        throw new ProtocolException(entry.stagedBytes() + " bytes of " + wanted
            + " are staged, and there was room for " + most);
      }
      ranges.add(new StagedChunk.Range(
          entry.isStaged(), entry.lengthBytes(), offset, entry.stagedBytes(), entry.checksum()));
      offset += entry.stagedBytes();
    }
    return ranges;
  }

  /** Ends the connection: what has been asked fails, and the credits are worth nothing any more. */
  public void close(IOException why) {
    openChannel().close(why);
  }

  @Override
  public void closed(IOException why) {
    List<Asked> unanswered;
    synchronized (this) {
      end = why;
      unanswered = List.copyOf(asked.values());
      asked.clear();
    }
    whenClosed.accept(this);
    unanswered.forEach(one -> one.chunk().failed(why));
    wakeWaiters();
  }
}
