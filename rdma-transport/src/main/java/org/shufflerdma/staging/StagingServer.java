/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
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
import org.shufflerdma.concurrent.Deadline;
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
 * Reads map outputs into registered memory for readers that ask for them, and who then READ them from
 * there. Each reading process has memory of its own, and all have equal shares. If the budget has no share
 * left, a new reader waits for one; meanwhile that of a reader that asks for nothing, or else of the one that
 * has had it for longest, is taken back. A share that is not used for a while is given back in any case. Any
 * thread may call.
 */
public final class StagingServer implements ProvedServer.Service {
  private static final Logger LOG = LoggerFactory.getLogger(StagingServer.class);
  private static final int BACKLOG = 128;
  private static final int REQUESTS_PER_READER = 2;
  private static final int LOOK_MS = 250;
  private static final int CLOSE_MS = 5_000;
  private static final int PAUSE_MS = 10_000;

  /** A reader that asks for nothing for so long gives way to one that waits. */
  private static final long GIVES_WAY_NS = TimeUnit.MILLISECONDS.toNanos(500);

  /** A reader that keeps asking keeps its share for so long, even if others wait. */
  private static final long TURN_NS = TimeUnit.SECONDS.toNanos(3);

  private final RdmaTransport transport;
  private final StagingSettings settings;
  private final StagingBudget budget;
  private final MutualProof proof;
  private final byte[] context;
  private final OpenOutputs outputs;
  private final StagingStats stats;
  private final ServerSocketChannel listener;
  private final ScheduledThreadPoolExecutor timer;
  private final Supplier<Executor> workers;

  /** Has a party for each request under way, and one for the server while it is open. */
  private final Phaser running = new Phaser(1);

  private final LogThrottle failures =
      new LogThrottle(TimeUnit.MINUTES.toNanos(1), System::nanoTime);
  private final LogThrottle refusals =
      new LogThrottle(TimeUnit.MINUTES.toNanos(1), System::nanoTime);

  private @Nullable ProvedServer newcomers; // set once, by open

  private final Set<ServedReader> readers = ConcurrentHashMap.newKeySet();

  // Guarded by this.
  private final Deque<ServedReader> waiting = new ArrayDeque<>();
  private final Set<ReaderMemory> memories = new HashSet<>();

  /** Shares of readers that have ended, whose memory is still in its grace. */
  private int leaving;

  /** The end of the pause after memory could not be registered, in which no share is granted. */
  private Deadline pause = Deadline.afterMs(0);

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
      StagingStats stats,
      Supplier<Executor> workers) {
    this.workers = workers;
    this.transport = transport;
    this.listener = listener;
    this.outputs = outputs;
    this.settings = settings;
    this.budget = budget;
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
   * @param workers are asked for with the first request, and may be those of other servers, too
   */
  public static StagingServer open(
      RdmaTransport transport,
      ControlLoop loop,
      CommittedOutputs outputs,
      StagingSettings settings,
      StagingBudget budget,
      StagingStats stats,
      Supplier<Executor> workers)
      throws IOException {
    Acquired acquired = new Acquired();
    try {
      ServerSocketChannel listener = acquired.keep(ServerSocketChannel.open());
      listener.bind(new InetSocketAddress(transport.endpoint().host(), 0), BACKLOG);
      OpenOutputs open = new OpenOutputs(outputs, step -> workers.get().execute(step));
      StagingServer server =
          new StagingServer(transport, listener, open, settings, budget, stats, workers);
      acquired.keep(server.timer::shutdownNow);
      server.timer.prestartCoreThread(); // here, where it is no reader's trouble if there is none
      server.newcomers = ProvedServer.open(
          listener, loop, StagingProof.HELLO, settings.connectTimeoutMs(), server);
      transport.tellStagingPort(server.isOfUse() ? server.port() : 0);
      return server;
    } catch (Throwable t) {
      acquired.close();
      throw t;
    }
  }

  /** Whether there is room for a reader at all. */
  boolean isOfUse() {
    return budget.maxBytes() >= settings.bytesPerReader();
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

  public StagingStats stats() {
    return stats;
  }

  /** The files of the shuffle may be deleted. */
  public void forgetShuffle(int shuffleId) {
    outputs.forgetShuffle(shuffleId);
  }

  /** Registered for readers now. */
  public long registeredBytes() {
    return budget.takenBytes(this);
  }

  @Override
  public ProvedServer.Terms termsFor(byte[] name) throws ProtocolException {
    if (!Arrays.equals(name, StagingProof.nameOf(transport.endpoint().bootNonce()))) {
      throw new ProtocolException("the client looks for another run of this executor");
    }
    return new ProvedServer.Terms(proof, context, StageRequest.MAX_BYTES, this::admit);
  }

  private ServedReader admit(ControlChannel channel, String address) {
    ServedReader reader = new ServedReader(this, channel, address);
    stats.readersAccepted.increment();
    readers.add(reader);
    synchronized (this) {
      if (closed) {
        reader.end(new IOException("the staging server is closed"));
        return reader;
      }
      waiting.add(reader);
      if (!looks) { // most executors never have a reader
        looks = true;
        var unused =
            timer.scheduleWithFixedDelay(this::look, LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
      }
    }
    timer.execute(this::serveWaiting);
    return reader;
  }

  @Override
  public void refused(String who, Throwable why) {
    if (why instanceof ProtocolException) {
      stats.readersRefused.increment();
    }
    noteRefusal(who, why);
  }

  /** Grants shares as long as there are some. Runs in the timer's thread alone. */
  private void serveWaiting() {
    while (true) {
      ServedReader next;
      synchronized (this) {
        waiting.removeIf(reader -> !readers.contains(reader));
        next = waiting.peek();
        if (closed || next == null) {
          budget.doNotWait(this);
          return;
        }
        if (!pause.expired()) {
          waiting.remove();
          next.end(new IOException("no memory can be registered at the moment"));
          continue;
        }
        if (!budget.tryTake(this, settings.bytesPerReader())) {
          return;
        }
        waiting.remove();
      }
      grant(next);
    }
  }

  private void grant(ServedReader reader) {
    ReaderMemory memory = null;
    try {
      memory = ReaderMemory.open(transport.protectionDomain(), settings);
      synchronized (this) {
        memories.add(memory);
      }
      if (!reader.grant(memory)) {
        free(memory);
      }
    } catch (IOException | RuntimeException | Error e) {
      if (failures.tryLog() >= 0) {
        LOG.warn("The memory for a reader of staged map outputs could not be registered", e);
      }
      if (memory == null) {
        budget.giveBack(this, settings.bytesPerReader());
        synchronized (this) {
          pause = Deadline.afterMs(PAUSE_MS);
        }
      }
      reader.end(new IOException("no memory for staged map outputs could be registered", e));
    }
  }

  /** Carries out a request of the reader's in a worker. Throws if the server is closed. */
  void execute(ServedReader reader, Runnable request) throws IOException {
    PerPeerExecutor<ServedReader> ready = lanes();
    running.register();
    ready.execute(reader, () -> {
      try {
        request.run();
      } finally {
        running.arriveAndDeregister();
      }
    });
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

  /** Takes shares back. */
  private void look() {
    try {
      long idleNs = TimeUnit.MILLISECONDS.toNanos(settings.idleMs());
      readers.stream()
          .filter(reader -> reader.isServed() && reader.idleNs() > idleNs)
          .forEach(reader -> reader.end(new IOException("it has asked for nothing for a while")));
      serveWaiting();
      outputs.closeUnused(idleNs);
      boolean isOneToGiveWay;
      synchronized (this) {
        isOneToGiveWay = waiting.size() > leaving // each of those makes room for one
            || (leaving == 0 && budget.isToGiveWay(this, settings.bytesPerReader(), TURN_NS));
      }
      if (isOneToGiveWay) {
        toGiveWay().ifPresent(reader -> {
          stats.readersPreempted.increment();
          reader.end(new IOException("another reader has its turn"));
        });
      }
    } catch (RuntimeException | Error e) { // one that escaped would end the timer
      LOG.error("The staging server failed in one round and continues", e);
    }
  }

  private Optional<ServedReader> toGiveWay() {
    Optional<ServedReader> idle = readers.stream()
        .filter(reader -> reader.isServed() && reader.idleNs() > GIVES_WAY_NS)
        .max(Comparator.comparingLong(ServedReader::idleNs));
    return idle.isPresent()
        ? idle
        : readers.stream()
            .filter(reader -> reader.isServed() && reader.servedNs() > TURN_NS)
            .max(Comparator.comparingLong(ServedReader::servedNs));
  }

  /** A control connection has ended. */
  void ended(ServedReader reader, IOException why, String address) {
    readers.remove(reader);
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

  /** Nobody fills the memory of a reader that has ended any more; null if that is not so. */
  void released(ServedReader reader, @Nullable ReaderMemory memory) {
    if (memory == null) {
      return;
    }
    synchronized (this) {
      if (!closed) {
        LOG.debug("The memory of {} is given back in {} ms", reader, settings.graceMs());
        leaving++;
        var unused = timer.schedule(
            () -> {
              synchronized (this) {
                leaving--;
              }
              free(memory);
            },
            settings.graceMs(),
            TimeUnit.MILLISECONDS);
        return;
      }
    }
    free(memory);
  }

  private void free(ReaderMemory memory) {
    synchronized (this) {
      if (!memories.remove(memory)) {
        return;
      }
    }
    try {
      memory.close();
      budget.giveBack(this, settings.bytesPerReader());
    } catch (IOException e) {
      LOG.error("Leaking {} bytes that could not be deregistered", settings.bytesPerReader(), e);
    }
    serveWaiting();
  }

  private boolean areRequestsOver() throws InterruptedException {
    try {
      running.awaitAdvanceInterruptibly(running.arrive(), CLOSE_MS, TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    }
  }

  /** Ends all readers, and deregisters their memory without grace. */
  public void close() throws IOException, InterruptedException {
    synchronized (this) {
      closed = true;
    }
    budget.doNotWait(this);
    ProvedServer opened = newcomers;
    if (opened != null) {
      opened.close();
    }
    readers.forEach(reader -> reader.end(new IOException("the staging server is closed")));
    timer.shutdownNow();
    boolean ended = timer.awaitTermination(CLOSE_MS, TimeUnit.MILLISECONDS);
    ended &= areRequestsOver();
    outputs.close();
    if (!ended) { // what is still being filled is freed when it is not any more
      throw new IOException(
          "map outputs are still being staged " + CLOSE_MS + " ms after the stop began");
    }
    Set<ReaderMemory> left;
    synchronized (this) {
      left = Set.copyOf(memories);
    }
    left.forEach(this::free);
  }
}
