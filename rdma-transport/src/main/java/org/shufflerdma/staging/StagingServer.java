/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Phaser;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.control.MutualProof;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.control.ProvedServer;
import org.shufflerdma.metrics.LogThrottle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads map outputs into registered memory for readers that ask for them, and who then READ them from there.
 * Memory is lent for one request at a time ({@link LendingDesk}). Any thread may call.
 */
public final class StagingServer implements ProvedServer.Service {
  private static final Logger LOG = LoggerFactory.getLogger(StagingServer.class);
  private static final int BACKLOG = 1024;
  private static final int REQUESTS_PER_READER = 2;
  private static final int LOOK_MS = 250;
  private static final int CLOSE_MS = 5_000;

  private final RdmaTransport transport;
  private final StagingSettings settings;
  private final StagingBudget budget;
  private final RequestQuota quota;
  private final LendingDesk desk;
  private final MutualProof proof;
  private final byte[] context;
  private final OpenOutputs outputs;
  private final StagingStats stats;
  private final ServerSocketChannel listener;
  private final ScheduledThreadPoolExecutor timer;
  private final Supplier<Executor> workers;

  /** Has a party for each request under way, and one for the server while it is open. */
  private final Phaser running = new Phaser(1);

  private final LogThrottle refusals = new LogThrottle();

  private @Nullable ProvedServer newcomers; // set once, by open

  private final Set<ServedReader> readers = ConcurrentHashMap.newKeySet();

  // Guarded by this.
  private boolean looks;
  private boolean closed;

  /** Null until the first request. */
  private @Nullable PerPeerExecutor<ServedReader> lanes;

  private StagingServer(
      RdmaTransport transport,
      ServerSocketChannel listener,
      OpenOutputs outputs,
      StagingSettings settings,
      StagingBudget budget,
      RequestQuota quota,
      StagingStats stats,
      Supplier<Executor> workers) {
    this.workers = workers;
    this.quota = quota;
    this.transport = transport;
    this.listener = listener;
    this.outputs = outputs;
    this.settings = settings;
    this.budget = budget;
    this.desk = new LendingDesk(
        transport.protectionDomain(), settings, budget, quota, stats, this::executeForDesk);
    this.stats = stats;
    String executorId = transport.identity().executorId();
    this.proof = StagingProof.of(transport.identity(), executorId);
    this.context = StagingProof.contextOf(new PeerId(executorId, transport.endpoint()));
    this.timer =
        new ScheduledThreadPoolExecutor(1, body -> Workers.thread("rdma-staging-timer", body));
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    timer.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
  }

  /**
   * Listens at the transport's address, at a port of its own, of which the transport tells its peers. The
   * owner closes it before the transport and the loop.
   *
   * @param budget may be that of other servers, too
   * @param quota likewise
   * @param workers are asked for with the first request, and may be those of other servers, too
   */
  public static StagingServer open(
      RdmaTransport transport,
      ControlLoop loop,
      CommittedOutputs outputs,
      StagingSettings settings,
      StagingBudget budget,
      RequestQuota quota,
      StagingStats stats,
      Supplier<Executor> workers)
      throws IOException {
    Acquired acquired = new Acquired();
    try {
      ServerSocketChannel listener = acquired.keep(ServerSocketChannel.open());
      listener.bind(new InetSocketAddress(transport.endpoint().host(), 0), BACKLOG);
      OpenOutputs open = new OpenOutputs(outputs, step -> workers.get().execute(step));
      StagingServer server =
          new StagingServer(transport, listener, open, settings, budget, quota, stats, workers);
      acquired.keep(server.timer::shutdownNow);
      server.timer.prestartCoreThread(); // here, where it is no reader's trouble if there is none
      server.newcomers = ProvedServer.open(
          listener,
          loop,
          settings.connectTimeoutMs(),
          new ProvedServer.Protocol(StagingProof.HELLO, server));
      transport.tellStagingPort(server.isOfUse() ? server.port() : 0);
      return server;
    } catch (Throwable t) {
      acquired.close();
      throw t;
    }
  }

  /** Whether there is room for a request at all. */
  boolean isOfUse() {
    return budget.maxBytes() >= settings.slabBytes();
  }

  int port() throws IOException {
    return ((InetSocketAddress) listener.getLocalAddress()).getPort();
  }

  StagingSettings settings() {
    return settings;
  }

  OpenOutputs outputs() {
    return outputs;
  }

  LendingDesk desk() {
    return desk;
  }

  public StagingStats stats() {
    return stats;
  }

  /** The files of the shuffle may be deleted. */
  public void forgetShuffle(int shuffleId) {
    outputs.forgetShuffle(shuffleId);
  }

  /** Registered for readers now. */
  public long registeredBytes() {
    return desk.registeredBytes();
  }

  @Override
  public CompletionStage<ProvedServer.Terms> termsFor(byte[] name) {
    return Arrays.equals(name, StagingProof.nameOf(transport.endpoint().bootNonce()))
        ? CompletableFuture.completedFuture(
            new ProvedServer.Terms(proof, context, StageRequest.MAX_BYTES, this::admit))
        : CompletableFuture.failedFuture(
            new ProtocolException("the client looks for another run of this executor"));
  }

  private ServedReader admit(ControlChannel channel, String address) {
    ServedReader reader = new ServedReader(this, channel, address);
    channel.limitUnsent(RequestQuota.UNSENT_BYTES);
    if (!quota.tryTake(RequestQuota.READER)) {
      stats.readersRefused.increment();
      reader.end(new IOException("there are too many readers"));
      return reader;
    }
    stats.readersAccepted.increment();
    readers.add(reader);
    synchronized (this) {
      if (closed) {
        reader.end(new IOException("the staging server is closed"));
        return reader;
      }
      if (!looks) { // most executors never have a reader
        looks = true;
        var unused =
            timer.scheduleWithFixedDelay(this::look, LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
      }
    }
    reader.begin();
    return reader;
  }

  @Override
  public void refused(String who, Throwable why) {
    if (why instanceof ProtocolException) {
      stats.readersRefused.increment();
    }
    noteRefusal(who, why);
  }

  /** Carries out a request of the reader's in a worker. Throws if the server is closed, or the request cannot be handed over. */
  void execute(ServedReader reader, Runnable request) throws IOException {
    PerPeerExecutor<ServedReader> open = lanes();
    handOver(request, step -> open.execute(reader, step));
  }

  /** The same for the desk's own. */
  private void executeForDesk(Runnable step) {
    handOver(step, workers.get());
  }

  /** The step belongs to those that are running, from now until it has run. */
  private void handOver(Runnable step, Executor to) {
    running.register();
    try {
      to.execute(() -> {
        try {
          step.run();
        } finally {
          running.arriveAndDeregister();
        }
      });
    } catch (RuntimeException | Error e) {
      running.arriveAndDeregister();
      throw e;
    }
  }

  private synchronized PerPeerExecutor<ServedReader> lanes() throws IOException {
    if (closed) {
      throw new IOException("the staging server is closed");
    }
    PerPeerExecutor<ServedReader> started = lanes;
    if (started == null) {
      started = new PerPeerExecutor<>(workers.get(), REQUESTS_PER_READER);
      lanes = started;
    }
    return started;
  }

  private void look() {
    try {
      long idleNs = TimeUnit.MILLISECONDS.toNanos(settings.idleMs());
      readers.stream()
          .filter(reader -> reader.idleNs() > idleNs)
          .forEach(reader -> reader.end(new IOException("it has asked for nothing for a while")));
      desk.look();
      outputs.closeUnused(idleNs);
    } catch (RuntimeException | Error e) { // one that escaped would end the timer
      LOG.error("The staging server failed in one round and continues", e);
    }
  }

  /** A control connection has ended. */
  void ended(ServedReader reader, IOException why, String address) {
    if (readers.remove(reader)) {
      quota.giveBack(RequestQuota.READER);
    }
    if (why instanceof ProtocolException) {
      stats.readersRefused.increment();
      noteRefusal(address, why);
    }
  }

  private void noteRefusal(String who, Throwable why) {
    long held = refusals.tryLog();
    if (held >= 0) {
      LOG.warn(
          "A control connection of {} is refused: {}. {} more were refused since the last message.",
          who,
          why.toString(),
          held);
    }
  }

  private boolean areRequestsOver(int phase) throws InterruptedException {
    try {
      running.awaitAdvanceInterruptibly(phase, CLOSE_MS, TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    }
  }

  /** Whether it has begun to close, so that nobody reads what is staged any more. */
  synchronized boolean isClosed() {
    return closed;
  }

  /**
   * Ends all readers, and deregisters their memory without grace; or, what is being filled for a request that is still under way
   * after 5 s, as soon as that has ended.
   *
   * @throws IOException if some memory stays
   */
  public void close() throws IOException, InterruptedException {
    synchronized (this) {
      closed = true;
    }
    desk.stop();
    ProvedServer opened = newcomers;
    if (opened != null) {
      opened.close();
    }
    readers.forEach(reader -> reader.end(new IOException("the staging server is closed")));
    timer.shutdownNow();
    int phase = running.arrive();
    boolean ended = false;
    try {
      ended = timer.awaitTermination(CLOSE_MS, TimeUnit.MILLISECONDS) && areRequestsOver(phase);
    } finally {
      outputs.close();
      if (ended) {
        desk.close();
      } else { // somebody may still fill the rest of the memory
        desk.closeWhatNobodyFills();
        startClosingLate(phase);
      }
    }
    if (!ended) {
      throw new IOException(
          "map outputs are still being staged " + CLOSE_MS + " ms after the stop began");
    }
  }

  private void startClosingLate(int phase) {
    try {
      Workers.thread("rdma-staging-end", () -> closeLate(phase)).start();
    } catch (OutOfMemoryError e) { // of a system that gives no more threads
      LOG.error("{} bytes in which map outputs were staged are leaked", registeredBytes(), e);
    }
  }

  /** Waits for as long as a disk hangs, because what is left counts in a budget that others share. */
  private void closeLate(int phase) {
    try {
      running.awaitAdvance(phase);
      if (timer.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS)) {
        outputs.close(); // those that have been opened meanwhile
        desk.close();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
