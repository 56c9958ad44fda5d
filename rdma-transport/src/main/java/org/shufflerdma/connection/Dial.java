/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.Errno;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One try to connect to a peer: address, route, queue pair, handshake, and the READ of the peer's probe block. Each
 * step begins when the event of the one before has come and runs in a worker, which never waits for the peer. When the
 * try is over, the caller is told once, and an id or a queue pair that did not become a connection has been destroyed.
 * From then on the end of the connection that the connection manager reports breaks it. Any thread may call.
 */
final class Dial implements CmEventLoop.Handler {
  private static final Logger LOG = LoggerFactory.getLogger(Dial.class);

  /** The last three come for a connection that we hold to be made when our answer gets lost. */
  private static final Set<CmEventType> ENDS = Set.of(
      CmEventType.DISCONNECTED,
      CmEventType.DEVICE_REMOVAL,
      CmEventType.REJECTED,
      CmEventType.UNREACHABLE,
      CmEventType.CONNECT_ERROR);

  /** IB_CM_REJ_CONSUMER_DEFINED of the kernel's ib_cm.h. */
  private static final int REJECTED_BY_CONSUMER = 28;

  /** What the try waits for. */
  private enum Phase {
    BEGIN,
    ADDRESS,
    ROUTE,
    ANSWER,
    /** For a buffer that its bytes go to. */
    PROBE_BUFFER,
    PROBE,
    OVER
  }

  /** Told in a worker. */
  interface Caller {
    /** The device has made a queue pair for it. */
    void foundRoom();

    /** The queue pairs are connected; the probe block is to be read. The connection has its place from here on. */
    void established(Connection connection);

    /** The connection works. */
    void connected(Connection connection);

    /** There is none. If one had been established, it is broken, and its owner destroys it. */
    void failed(NoConnectionException why, boolean wasEstablished);
  }

  /** The part of an event that is kept after its acknowledgement. */
  @SuppressWarnings("ArrayRecordComponent")
  private record Outcome(CmEventType type, int status, byte[] privateData) {}

  private final Connector connector;
  private final PeerState state;
  private final PeerId peer;
  private final int timeoutMs;
  private final Consumer<Connection> whenBroken;
  private final Caller caller;
  private final byte[] nonce;

  /** In the order in which they came, whichever worker takes one. */
  private final Queue<Outcome> outcomes = new ConcurrentLinkedQueue<>();

  /** Since when the peer, the way to it, or a buffer is awaited; 0 while this side has to act. */
  private volatile long askedNs;

  /** Whether a worker is about to look. */
  private final AtomicBoolean looks = new AtomicBoolean();

  /** Written while this is locked. */
  private volatile Phase phase = Phase.BEGIN;

  // Guarded by this.
  private @Nullable ConnectionId id;
  private @Nullable ReadQueuePair queuePair;
  private @Nullable Connection connection;
  private Handshake.@Nullable Reply reply;

  /** @param timeoutMs for each answer of the peer, or of the way to it */
  Dial(
      Connector connector,
      PeerState state,
      int timeoutMs,
      Consumer<Connection> whenBroken,
      Caller caller) {
    this.connector = connector;
    this.state = state;
    this.peer = state.peer();
    this.timeoutMs = timeoutMs;
    this.whenBroken = whenBroken;
    this.caller = caller;
    this.nonce = connector.handshake().newClientNonce();
  }

  void begin() {
    connector.work(() -> step(this::resolveAddress));
  }

  @Override
  public void handle(CmEvent event) {
    if (event.type() == CmEventType.CONNECT_RESPONSE) {
      connector.answerTime().add(unansweredNs());
    }
    if (phase == Phase.ADDRESS || phase == Phase.ROUTE || phase == Phase.ANSWER) {
      askedNs = 0; // what comes later ends no wait
    }
    outcomes.add(new Outcome(event.type(), event.status(), event.privateData()));
    // This thread may not take the step itself. A try has been ended before the workers are shut
    // down.
    if (!connector.tryWork(this::takeOutcome)) {
      LOG.debug("{} comes from {} after the end of this transport", event, peer);
    }
  }

  private long unansweredNs() {
    long asked = askedNs;
    return asked == 0 ? 0 : System.nanoTime() - asked;
  }

  /** Whether the peer, or the way to it, has not answered for longer. */
  boolean isSilent(long ns) {
    return phase != Phase.PROBE_BUFFER && unansweredNs() > ns;
  }

  /** Goes on where nothing comes that would drive the try. Called now and then. */
  void look() {
    if ((isLate() || phase == Phase.PROBE_BUFFER) && looks.compareAndSet(false, true)) {
      connector.work(() -> {
        looks.set(false);
        step(this::goOn);
      });
    }
  }

  private boolean isLate() {
    return unansweredNs() > TimeUnit.MILLISECONDS.toNanos(timeoutMs);
  }

  /** Ends the try, if it is not over. */
  void end(NoConnectionException why) {
    connector.work(() -> fail(why));
  }

  private interface Step {
    void run() throws NoConnectionException;
  }

  private synchronized void step(Step step) {
    if (phase == Phase.OVER) {
      return;
    }
    try {
      step.run();
    } catch (NoConnectionException e) {
      fail(e);
    } catch (RuntimeException | Error e) {
      fail(new NoConnectionException(peer, PeerFailure.CLOSED, "the attempt was ended", e));
      throw e;
    }
  }

  private void goOn() throws NoConnectionException {
    if (isLate()) {
      throw late();
    }
    if (phase == Phase.PROBE_BUFFER) {
      readProbeBlock();
    }
  }

  private NoConnectionException late() {
    return switch (phase) {
      case PROBE_BUFFER ->
        new NoConnectionException(peer, PeerFailure.RESOURCES, "no fetch buffer came back in time");
      case PROBE ->
        new NoConnectionException(
            peer, PeerFailure.CANARY, "the READ of the canary did not complete in time");
      default ->
        new NoConnectionException(
            peer, PeerFailure.TIMEOUT, "no " + wanted() + " within the connect timeout");
    };
  }

  private CmEventType wanted() {
    return switch (phase) {
      case BEGIN, ADDRESS -> CmEventType.ADDR_RESOLVED;
      case ROUTE -> CmEventType.ROUTE_RESOLVED;
      default -> CmEventType.CONNECT_RESPONSE;
    };
  }

  private void resolveAddress() throws NoConnectionException {
    try {
      id = connector.loop().createId(this);
    } catch (VerbsException e) {
      throw new NoConnectionException(peer, PeerFailure.RESOURCES, "no connection id", e);
    }
    ask(Phase.ADDRESS);
    try {
      connector.resolveAddress(id, peer, timeoutMs);
    } catch (VerbsException e) {
      throw noRoute(e);
    }
  }

  /** From now on the next event is awaited. Called before what causes it. */
  private void ask(Phase next) {
    phase = next;
    askedNs = System.nanoTime();
  }

  private NoConnectionException noRoute(VerbsException e) {
    return new NoConnectionException(peer, PeerFailure.ADDRESS, "no route was found", e);
  }

  private synchronized void takeOutcome() {
    Outcome outcome = outcomes.poll();
    if (outcome == null) {
      return;
    }
    Connection made = connection;
    if (made != null) {
      if (ENDS.contains(outcome.type())) {
        String why = "the connection manager reports " + outcome.type();
        made.breakWith(PeerFailure.DISCONNECTED, why);
        if (phase == Phase.PROBE_BUFFER) { // no READ is under way that would fail now
          fail(new NoConnectionException(peer, PeerFailure.CANARY, why));
        }
      }
      return;
    }
    step(() -> goOnAfter(outcome));
  }

  private void goOnAfter(Outcome outcome) throws NoConnectionException {
    ConnectionId of = id;
    if (of == null) {
      throw new IllegalStateException("event " + outcome.type() + " came without an id");
    }
    if (outcome.type() == CmEventType.REJECTED) {
      throw rejected(outcome);
    }
    if (outcome.type() != wanted()) {
      throw new NoConnectionException(
          peer, failureOf(outcome), outcome.type() + " with status " + outcome.status());
    }
    switch (phase) {
      case ADDRESS -> resolveRoute(of);
      case ROUTE -> shakeHands(of);
      default -> establish(of, outcome);
    }
  }

  private NoConnectionException rejected(Outcome outcome) {
    if (outcome.status() == REJECTED_BY_CONSUMER && !Handshake.isRejection(outcome.privateData())) {
      return new NoConnectionException(
          peer,
          PeerFailure.NO_WAY_BACK,
          "its host, not the peer, has rejected the request: it has no route back to "
              + connector.settings().bindAddress().getAddress().getHostAddress()
              + " by the interface at which the request came, or no room for one more, or the peer has"
              + " just ended");
    }
    Handshake.Rejection rejection = Handshake.readRejection(outcome.privateData());
    String text = rejection.reason() == PeerFailure.VERSION
        ? "its handshake has another version: give all executors the same build"
        : "rejected by nonce=" + rejection.serverNonce() + ", status " + outcome.status();
    return new NoConnectionException(peer, rejection.reason(), text);
  }

  private static PeerFailure failureOf(Outcome outcome) {
    return switch (outcome.type()) {
      case ADDR_ERROR, ROUTE_ERROR ->
        isTimeout(outcome) ? PeerFailure.TIMEOUT : PeerFailure.ADDRESS;
      case UNREACHABLE -> isTimeout(outcome) ? PeerFailure.TIMEOUT : PeerFailure.REFUSED;
      default -> PeerFailure.REFUSED;
    };
  }

  /** Nobody has answered an ARP request, or a request for a path or a connection. */
  private static boolean isTimeout(Outcome outcome) {
    return outcome.status() == -Errno.ETIMEDOUT;
  }

  private void resolveRoute(ConnectionId of) throws NoConnectionException {
    try {
      if (!connector.isOfDevice(of)) {
        throw new NoConnectionException(
            peer, PeerFailure.ADDRESS, "its route leads to device " + of.deviceName());
      }
      connector.setup().prepare(of);
      ask(Phase.ROUTE);
      of.resolveRoute(timeoutMs);
    } catch (VerbsException e) {
      throw noRoute(e);
    }
  }

  private void shakeHands(ConnectionId of) throws NoConnectionException {
    try {
      queuePair = connector.createQueuePair(of);
    } catch (VerbsException e) {
      throw new NoConnectionException(peer, PeerFailure.RESOURCES, "no queue pair", e);
    }
    caller.foundRoom();
    byte[] request = connector.handshake().request(nonce, peer);
    ask(Phase.ANSWER);
    try {
      of.connect(connector.setup().request(request));
    } catch (VerbsException e) {
      throw new NoConnectionException(peer, PeerFailure.REFUSED, "the request failed", e);
    }
  }

  private void establish(ConnectionId of, Outcome answer) throws NoConnectionException {
    ReadQueuePair connecting = queuePair;
    if (connecting == null) {
      throw new IllegalStateException("an answer came to a connection without a queue pair");
    }
    Handshake.Reply verified = connector.handshake().checkReply(answer.privateData(), nonce, peer);
    try {
      connector.setup().initiatorReady(connecting.pair());
      of.establish();
    } catch (VerbsException | IllegalStateException e) {
      throw new NoConnectionException(peer, PeerFailure.RESOURCES, "not established", e);
    }
    state.stagesAt(verified.stagingPort());
    reply = verified;
    Connection made = connector.connection(state, of, connecting, whenBroken);
    connection = made;
    caller.established(made);
    ask(Phase.PROBE_BUFFER);
    readProbeBlock();
  }

  private void readProbeBlock() throws NoConnectionException {
    Connection made = connection;
    Handshake.Reply at = reply;
    if (made == null || at == null) {
      throw new IllegalStateException("there is no connection yet");
    }
    if (!connector.buffers().canHold(Canary.SIZE_BYTES)) {
      throw new NoConnectionException(
          peer,
          PeerFailure.RESOURCES,
          "no fetch buffer can have " + Canary.SIZE_BYTES + " bytes; raise "
              + connector.settings().key("poolBytes") + ", which is "
              + connector.buffers().budgetBytes());
    }
    RegisteredBuffer sink;
    try {
      sink = connector.buffers().tryAcquireFirst(Canary.SIZE_BYTES);
    } catch (IOException e) {
      throw new NoConnectionException(peer, PeerFailure.RESOURCES, "no fetch buffer", e);
    }
    if (sink == null) {
      return;
    }
    boolean posted = false;
    ask(Phase.PROBE);
    try {
      Read read = new Read(at.canaryAddress(), at.canaryRkey(), Canary.SIZE_BYTES, 0);
      made.postControl(List.of(read), sink, new ProbeRead(sink), Deadline.afterMs(timeoutMs));
      posted = true;
    } catch (TimeoutException e) {
      throw late();
    } catch (NoConnectionException e) {
      throw wrong("the READ of the canary could not be posted: " + e.reason());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NoConnectionException(peer, PeerFailure.CLOSED, "this transport is closed", e);
    } finally {
      if (!posted) {
        sink.release();
      }
    }
  }

  private NoConnectionException wrong(String what) {
    return new NoConnectionException(peer, PeerFailure.CANARY, what);
  }

  /** Whoever tells the outcome must not compute. */
  private final class ProbeRead implements ReadCompletion {
    private final RegisteredBuffer sink;

    ProbeRead(RegisteredBuffer sink) {
      this.sink = sink;
    }

    @Override
    public void succeeded() {
      tell(null);
    }

    @Override
    public void failed(ReadFailure failure) {
      tell(failure);
    }

    private void tell(@Nullable ReadFailure failure) {
      askedNs = 0;
      connector.work(() -> {
        try {
          step(() -> verify(failure, sink));
        } finally {
          sink.release();
        }
      });
    }
  }

  private void verify(@Nullable ReadFailure failure, RegisteredBuffer sink)
      throws NoConnectionException {
    Connection made = connection;
    if (made == null) {
      throw new IllegalStateException("a READ has ended without a connection");
    }
    if (failure != null) {
      throw wrong(failure.toString());
    }
    if (!Canary.matches(sink.nioBuffer(0, Canary.SIZE_BYTES), peer.endpoint().bootNonce())) {
      throw wrong("the canary has the wrong bytes");
    }
    phase = Phase.OVER;
    made.verified();
    caller.connected(made);
  }

  private synchronized void fail(NoConnectionException why) {
    if (phase == Phase.OVER) {
      return;
    }
    phase = Phase.OVER;
    askedNs = 0;
    Connection made = connection;
    if (made != null) {
      made.breakWith(PeerFailure.CLOSED, "it could not be verified");
    } else {
      discard();
    }
    caller.failed(why, made != null);
  }

  private void discard() {
    ConnectionId unused = id;
    if (unused == null) {
      return;
    }
    connector.loop().forget(unused);
    ReadQueuePair unusedPair = queuePair;
    if (unusedPair != null && !destroyed(unusedPair)) {
      return; // the id is in use as well
    }
    try {
      unused.close();
    } catch (IOException | IllegalStateException e) {
      LOG.warn("The connection id of a failed attempt could not be destroyed", e);
    }
  }

  private boolean destroyed(ReadQueuePair unused) {
    try {
      unused.close();
      return true;
    } catch (IOException e) {
      connector.stats().queuePairsNotDestroyed.increment();
      LOG.error(
          "Queue pair {} of a failed attempt to connect to {} could not be destroyed",
          unused.pair().number(),
          peer,
          e);
      return false;
    }
  }
}
