/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
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
 * The reader's end of one control connection, for all tasks of this process that read from the peer. It keeps to
 * the number of requests that the peer allows. Any thread may call.
 */
public final class StagingClient implements ControlChannel.Owner {
  /** So many loans are returned at once even if no request goes to the peer. */
  private static final int MANY_RETURNS = 8;

  /** An owner ends an idle connection sooner, unless its host has gone without a word. */
  private static final int IDLE_MS = 120_000;

  private record Asked(StagedLoan loan, StageRequest request, long askedNs) {}

  private final PeerId peer;
  private final Consumer<StagingClient> whenClosed;
  private final LatencyHistogram replyTimes;
  private @Nullable ControlChannel channel; // set once, before anybody else has the client

  // Guarded by this, also while frames are sent: a loan must not be returned behind a request that
  // needs its place.
  private final Set<StagedLoan> held = new HashSet<>();
  private final Map<Long, Asked> asked = new HashMap<>();
  private final List<Long> toReturn = new ArrayList<>();
  private final Set<Runnable> waiters = new LinkedHashSet<>();
  private @Nullable StagingTerms terms;
  private long lastId;

  /** Whether readers wait for memory of the peer, as far as is known. */
  private boolean isCrowded;

  private @Nullable IOException end;

  private StagingClient(
      PeerId peer, Consumer<StagingClient> whenClosed, LatencyHistogram replyTimes) {
    this.peer = peer;
    this.whenClosed = whenClosed;
    this.replyTimes = replyTimes;
  }

  /**
   * Connects and proves itself. The peer's terms come later.
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
      channel.endAt(deadline);
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

  public synchronized boolean isOpen() {
    return end == null;
  }

  /** Whether the peer has said what may be asked for. */
  public synchronized boolean hasTerms() {
    return terms != null;
  }

  /**
   * Takes the place of a request; null if none is free. Loans that nobody has read in time give way.
   *
   * @param wake called when the owner has answered, and if no place is free also once when one may be; it must
   *     not block
   */
  public @Nullable StagedLoan tryTake(Runnable wake) {
    StagedLoan loan = tryTakeFree(wake);
    if (loan == null) {
      List<StagedLoan> all;
      synchronized (this) {
        all = List.copyOf(held);
      }
      all.forEach(StagedLoan::releaseIfOver);
      loan = tryTakeFree(wake);
    }
    return loan;
  }

  private synchronized @Nullable StagedLoan tryTakeFree(Runnable wake) {
    StagingTerms known = terms;
    if (end != null) {
      return null;
    }
    if (known == null || held.size() >= known.requests()) {
      waiters.add(wake);
      return null;
    }
    StagedLoan loan = new StagedLoan(this, known, wake);
    held.add(loan);
    openChannel().endAt(null);
    return loan;
  }

  void giveBack(StagedLoan loan) {
    synchronized (this) {
      held.remove(loan);
      if (end == null && loan.id() != 0) {
        asked.remove(loan.id());
        toReturn.add(loan.id());
        returnIfDue();
      }
      if (held.isEmpty()) {
        openChannel().endAt(Deadline.afterMs(IDLE_MS));
      }
    }
    wakeWaiters();
  }

  /** Guarded by this. A request, or a reply after which this is due, brings the rest. */
  private void returnIfDue() {
    if (!toReturn.isEmpty()
        && (isCrowded
            || asked.values().stream().allMatch(one -> one.loan().waitMs() > 0)
            || toReturn.size() >= MANY_RETURNS)) {
      openChannel().send(StageRequest.returning(takeReturns()).encode());
    }
  }

  /** Guarded by this. */
  private List<Long> takeReturns() {
    List<Long> taken = List.copyOf(toReturn);
    toReturn.clear();
    return taken;
  }

  private void wakeWaiters() {
    List<Runnable> waiting;
    synchronized (this) {
      waiting = List.copyOf(waiters);
      waiters.clear();
    }
    waiting.forEach(Runnable::run);
  }

  void ask(StagedLoan loan, List<StagedRange> wanted, int maxBytes) {
    IOException ended;
    synchronized (this) {
      ended = end;
      if (ended == null) {
        loan.number(++lastId);
        StageRequest request = new StageRequest(lastId, maxBytes, takeReturns(), wanted);
        asked.put(lastId, new Asked(loan, request, System.nanoTime()));
        openChannel().send(request.encode());
      }
    }
    if (ended != null) {
      loan.failed(ended);
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
      receivedReply(StageReply.decode(body));
    }
  }

  /** The first frame has the terms. */
  private synchronized boolean take(ByteBuffer body) throws ProtocolException {
    if (terms != null) {
      return false;
    }
    terms = StagingTerms.decode(body);
    openChannel().endAt(Deadline.afterMs(IDLE_MS));
    return true;
  }

  private void receivedReply(StageReply reply) throws ProtocolException {
    Asked of = askedFor(reply);
    if (of == null) {
      return;
    }
    if (reply.isWaiting()) {
      of.loan().waits(reply.waitMs());
      return;
    }
    replyTimes.recordSince(of.askedNs());
    List<StagedLoan.Range> ranges;
    try {
      ranges = rangesOf(of.request(), reply);
    } catch (ProtocolException e) {
      of.loan().failed(e);
      throw e;
    }
    of.loan().answered(reply.address(), reply.rkey(), ranges);
  }

  /** Null if the request is not wanted any more. */
  private synchronized @Nullable Asked askedFor(StageReply reply) throws ProtocolException {
    if (reply.id() <= 0 || reply.id() > lastId) {
      throw new ProtocolException("a reply that nobody has asked for");
    }
    Asked of = reply.isWaiting() ? asked.get(reply.id()) : asked.remove(reply.id());
    isCrowded = reply.waitMs() > 0;
    returnIfDue();
    return of;
  }

  private static List<StagedLoan.Range> rangesOf(StageRequest request, StageReply reply)
      throws ProtocolException {
    if (reply.entries().size() > request.ranges().size()) {
      throw new ProtocolException("a reply to more than was asked for");
    }
    List<StagedLoan.Range> ranges = new ArrayList<>(reply.entries().size());
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
      ranges.add(new StagedLoan.Range(
          entry.isStaged(),
          entry.lengthBytes(),
          offset,
          entry.stagedBytes(),
          entry.checksum(),
          entry.registered()));
      offset += entry.stagedBytes();
    }
    return ranges;
  }

  /** Ends the connection: what has been asked fails. */
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
    unanswered.forEach(one -> one.loan().failed(why));
    wakeWaiters();
  }
}
