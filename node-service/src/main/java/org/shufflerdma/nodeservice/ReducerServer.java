/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.control.ProvedServer;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.node.LookupMessages;
import org.shufflerdma.staging.StagingBudget;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the reducers of this host at the port of the service ({@link ReducerMessages}). Any thread may call; its owner
 * closes it before the applications.
 */
final class ReducerServer implements ProvedServer.Service, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ReducerServer.class);

  /** Jobs whose devices can be opened at a time. */
  private static final int OPENERS = 4;

  /** Of all users, as far as two fifths of the heap suffice. A reducer has five connections by default. */
  private static final int MAX_CONNECTIONS =
      (int) Math.min(2048, Runtime.getRuntime().maxMemory() / 5 * 2 / Reducer.MAX_HEAP_BYTES);

  private static final int MAX_CONNECTIONS_OF_A_USER = MAX_CONNECTIONS / 2;

  /** Several times the interval at which memory is looked for. */
  private static final long PAUSE_NS = 2_000_000_000L;

  private final Applications applications;
  private final StagingBudget budget;

  /** Null if it cannot be read, so that nobody can prove to be on this host. */
  private final @Nullable String bootId;

  private final PerPeerExecutor<Application> openers;
  private final Set<Reducer> reducers = ConcurrentHashMap.newKeySet();
  private final LongAdder outputs = new LongAdder();
  private final LongAdder bytes = new LongAdder();
  private final LongAdder refusals = new LongAdder();
  private final LongAdder shortages = new LongAdder();
  private volatile boolean hasLackedMemory;
  private long lastGiveWayNs = System.nanoTime(); // of the thread that calls it
  private final LogThrottle troubles = new LogThrottle();
  private final Acquired acquired = new Acquired();

  /** @param budget in which what reducers hold counts */
  ReducerServer(Applications applications, StagingBudget budget) {
    this.applications = applications;
    this.budget = budget;
    this.bootId = bootIdIfReadable();
    ThreadPoolExecutor workers = Workers.pool("reducers", OPENERS);
    this.openers = new PerPeerExecutor<>(workers, 1);
    acquired.keep(workers::shutdownNow);
  }

  private static @Nullable String bootIdIfReadable() {
    try {
      return ReducerMessages.bootId();
    } catch (IOException e) {
      LOG.warn(
          "Reducers of MapReduce are not served until the service can read the boot id of this kernel at its start: {}",
          e.toString());
      return null;
    }
  }

  @Override
  public CompletionStage<ProvedServer.Terms> termsFor(byte[] name) {
    String boot = bootId;
    if (boot == null) {
      return CompletableFuture.failedFuture(
          new ProtocolException("the boot id of this kernel cannot be read"));
    }
    String job = LookupMessages.appIdOf(name);
    return applications
        .find(job)
        .thenApply(application -> new ProvedServer.Terms(
            ReducerMessages.proofFor(application.grant().identity()),
            ReducerMessages.contextOf(job, boot),
            ReducerMessages.MAX_BYTES,
            (channel, address) -> admit(application, channel)));
  }

  private Reducer admit(Application application, ControlChannel channel) {
    Reducer reducer = new Reducer(this, application, channel);
    channel.limitUnsent(Reducer.MAX_UNSENT_BYTES);
    reducers.add(reducer);
    application.add(reducer);
    int uid = application.grant().uid();
    long ofUser = reducers.stream()
        .filter(other -> other.application().grant().uid() == uid)
        .count();
    if (ofUser > MAX_CONNECTIONS_OF_A_USER || reducers.size() > MAX_CONNECTIONS) {
      reducer.end(new ProtocolException(
          "there are %d connections of reducers, %d of them of user %d; the most are %d and %d"
              .formatted(
                  reducers.size(), ofUser, uid, MAX_CONNECTIONS, MAX_CONNECTIONS_OF_A_USER)));
    }
    return reducer;
  }

  /** What a reducer may hold before it must release some. */
  long shareBytes() {
    return budget.maxBytes() / Math.max(1, reducers.size());
  }

  /**
   * Several times a second: ends those that keep memory for nothing when others have lacked it. After a pause of this process it waits
   * for the next call, because what reducers have said meanwhile has not been read yet.
   */
  void giveWay() {
    long nowNs = System.nanoTime();
    boolean isAfterPause = nowNs - lastGiveWayNs > PAUSE_NS;
    lastGiveWayNs = nowNs;
    if (isAfterPause) {
      return;
    }
    if (hasLackedMemory || budget.isWaitedFor()) {
      hasLackedMemory = false;
      reducers.forEach(Reducer::endIfIdle);
    }
  }

  /** Has a worker do what may open an application's device; those of an application follow one another. */
  void execute(Application application, Runnable step) {
    openers.execute(application, step);
  }

  void delivered(long lengthBytes) {
    outputs.increment();
    bytes.add(lengthBytes);
  }

  void refused(String reason) {
    refusals.increment();
    boolean isPool = reason.equals(TcpReason.POOL.name());
    if (isPool) {
      hasLackedMemory = true;
    }
    if (isPool || reason.equals(Reducer.HAS_ITS_SHARE)) {
      shortages.increment();
    }
    LOG.debug("A reducer takes an output by HTTP: {}", reason);
  }

  int connections() {
    return reducers.size();
  }

  long outputs() {
    return outputs.sum();
  }

  long bytes() {
    return bytes.sum();
  }

  long refusals() {
    return refusals.sum();
  }

  long shortages() {
    return shortages.sum();
  }

  long heldBytes() {
    return reducers.stream().mapToLong(Reducer::heldBytes).sum();
  }

  void note(String what, Throwable why) {
    long kept = troubles.tryLog();
    if (kept >= 0) {
      LOG.warn("{}: {}. {} more since the last message.", what, why.toString(), kept);
    }
  }

  @Override
  public void refused(String who, Throwable why) {
    note("a reducer at " + who + " is refused", why);
  }

  void ended(Reducer reducer, IOException why) {
    reducers.remove(reducer);
    reducer.application().remove(reducer);
    if (why instanceof ProtocolException) {
      note("a reducer is ended", why);
    }
  }

  @Override
  public void close() {
    reducers.forEach(reducer -> reducer.end(new IOException("the service stops")));
    acquired.close();
  }
}
