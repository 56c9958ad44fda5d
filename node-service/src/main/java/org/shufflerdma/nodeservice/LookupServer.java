/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.control.FrameSeal;
import org.shufflerdma.control.MutualProof;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.node.LookupMessages;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells readers of other hosts where their application is served, at a fixed port, once they have proved that
 * they belong to it. Any thread may call; its owner closes it before the loop.
 */
final class LookupServer implements ControlLoop.Member, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LookupServer.class);
  private static final int BACKLOG = 512;
  private static final int MAX_LOOKUPS = 512;
  private static final int TIMEOUT_MS = 5_000;
  private static final int LOOK_MS = 500;

  /** Applications that can be opened at a time. */
  private static final int OPENERS = 4;

  private final Applications applications;
  private final ControlLoop loop;
  private final ServerSocketChannel listener;
  private final ThreadPoolExecutor openers;
  private final ScheduledThreadPoolExecutor timer;
  private final Set<Lookup> lookups = ConcurrentHashMap.newKeySet();
  private final LongAdder answered = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LogThrottle refusals =
      new LogThrottle(TimeUnit.MINUTES.toNanos(1), System::nanoTime);
  private final Acquired acquired = new Acquired();

  private LookupServer(Applications applications, ControlLoop loop, ServerSocketChannel listener) {
    this.applications = applications;
    this.loop = loop;
    this.listener = listener;
    this.openers = Workers.pool("lookup", OPENERS);
    acquired.keep(openers::shutdownNow);
    this.timer = new ScheduledThreadPoolExecutor(1, body -> Workers.thread("lookup-timer", body));
    acquired.keep(timer::shutdownNow);
    acquired.keep(() -> lookups.forEach(lookup -> lookup.end("the node service stops")));
    acquired.keep(listener);
  }

  /** Listens at all addresses of the host. */
  static LookupServer open(int port, Applications applications, ControlLoop loop)
      throws IOException {
    ServerSocketChannel listener = ServerSocketChannel.open();
    try {
      listener.bind(new InetSocketAddress(port), BACKLOG);
      listener.configureBlocking(false);
    } catch (IOException e) {
      listener.close();
      throw new IOException(
          "port " + port + " (service.port) cannot be listened at: " + e.getMessage(), e);
    }
    LookupServer server = new LookupServer(applications, loop, listener);
    loop.register(listener, SelectionKey.OP_ACCEPT, server);
    var unused =
        server.timer.scheduleWithFixedDelay(server::look, LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
    return server;
  }

  int port() throws IOException {
    return ((InetSocketAddress) listener.getLocalAddress()).getPort();
  }

  long answered() {
    return answered.sum();
  }

  long refused() {
    return refused.sum();
  }

  @Override
  public void loopDied(Throwable why) {
    LOG.error("Readers are not answered any more", why);
  }

  @Override
  public void ready(SelectionKey key) {
    SocketChannel socket = null;
    try {
      socket = listener.accept();
      if (socket == null) {
        return;
      }
      if (lookups.size() >= MAX_LOOKUPS) {
        lookups.stream()
            .max(Comparator.comparingLong(Lookup::ageNs))
            .ifPresent(oldest -> oldest.end("too many others came"));
      }
      socket.configureBlocking(false);
      new Lookup(socket).start();
    } catch (IOException | RuntimeException e) {
      LOG.warn("A reader could not be accepted", e);
      close(socket);
      key.interestOps(0); // until the next look: there may be no descriptors
    }
  }

  private static void close(@Nullable SocketChannel socket) {
    try {
      if (socket != null) {
        socket.close();
      }
    } catch (IOException e) {
      LOG.debug("A socket could not be closed", e);
    }
  }

  private void look() {
    try {
      endLate();
    } catch (RuntimeException | Error e) { // one that escaped would end the timer
      LOG.error("The readers that take too long could not be ended", e);
    }
  }

  private void endLate() {
    long mostNs = TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MS);
    lookups.stream()
        .filter(lookup -> lookup.ageNs() > mostNs)
        .forEach(lookup -> lookup.end("it took longer than " + TIMEOUT_MS + " ms"));
    SelectionKey key = loop.keyOf(listener);
    if (key != null && key.isValid() && key.interestOps() == 0) {
      key.interestOps(SelectionKey.OP_ACCEPT);
      loop.changed();
    }
  }

  @Override
  public void close() {
    acquired.close();
  }

  /** One connection. The loop's thread reads it. */
  private final class Lookup implements ControlChannel.Owner {
    private final String address;
    private final ControlChannel channel;
    private final long sinceNs = System.nanoTime();
    private @Nullable Application application;
    private @Nullable MutualProof proof;
    private MutualProof.@Nullable Exchange exchange;
    private volatile boolean isAnswered;

    Lookup(SocketChannel socket) throws IOException {
      this.address = String.valueOf(socket.getRemoteAddress());
      this.channel = new ControlChannel(socket, loop, LookupMessages.HELLO_BYTES, this);
    }

    void start() throws IOException {
      lookups.add(this);
      channel.start();
    }

    long ageNs() {
      return System.nanoTime() - sinceNs;
    }

    void end(String why) {
      channel.close(new ProtocolException(why));
    }

    @Override
    public void received(ByteBuffer body) throws IOException {
      if (exchange == null) {
        answer(LookupMessages.decodeHello(body));
      } else {
        tell(body);
      }
    }

    private void answer(LookupMessages.Hello hello) throws ProtocolException {
      Application asked = applications.find(hello.appId());
      if (asked == null) {
        throw new ProtocolException("no executor of its application has registered here");
      }
      MutualProof shared = LookupMessages.proofFor(asked.grant().identity());
      LookupMessages.check(hello, shared);
      MutualProof.Exchange drawn = new MutualProof.Exchange(
          hello.challenge(), shared.challenge(), LookupMessages.contextOf(hello.appId()));
      application = asked;
      proof = shared;
      exchange = drawn;
      channel.send(shared.answer(drawn));
    }

    private void tell(ByteBuffer body) throws ProtocolException {
      MutualProof shared = proof;
      MutualProof.Exchange drawn = exchange;
      Application proved = application;
      if (shared == null || drawn == null || proved == null || isAnswered) {
        throw new ProtocolException("a message that nobody expects");
      }
      shared.readProof(body, drawn);
      byte[] key = shared.frameKey(drawn);
      channel.seal(new FrameSeal(key, 'S'), new FrameSeal(key, 'C'), 0);
      openers.execute(() -> tell(proved));
    }

    private void tell(Application proved) {
      try {
        RdmaEndpoint endpoint = proved.endpoint();
        isAnswered = true;
        answered.increment();
        channel.send(LookupMessages.encode(endpoint));
      } catch (IOException | RuntimeException | Error e) {
        LOG.error("Application {} cannot be served", proved.grant(), e);
        channel.close(new IOException("the application cannot be served", e));
      }
    }

    @Override
    public void closed(IOException why) {
      lookups.remove(this);
      if (!isAnswered) {
        refused.increment();
        long held = refusals.tryLog();
        if (held >= 0) {
          LOG.warn(
              "A reader at {} is refused: {}. {} more were refused since the last message.",
              address,
              why.getMessage(),
              held);
        }
      }
    }
  }
}
