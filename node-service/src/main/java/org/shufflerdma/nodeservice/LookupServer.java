/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.LongAdder;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.control.ProvedServer;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.node.LookupMessages;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells readers of other hosts where their application is served, at a fixed port, once they have proved that
 * they belong to it. The reducers of this host come to the same port. Any thread may call; its owner closes it before the loop.
 */
final class LookupServer implements ProvedServer.Service, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LookupServer.class);
  private static final int BACKLOG = 512;
  private static final int TIMEOUT_MS = 5_000;

  /** Applications that can be opened at a time. */
  private static final int OPENERS = 4;

  private final Applications applications;
  private final ServerSocketChannel listener;
  private final ThreadPoolExecutor openers;
  private final LongAdder answered = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LogThrottle refusals = new LogThrottle();
  private final Acquired acquired = new Acquired();

  private LookupServer(Applications applications, ServerSocketChannel listener) {
    this.applications = applications;
    this.listener = acquired.keep(listener);
    this.openers = Workers.pool("lookup", OPENERS);
    acquired.keep(openers::shutdownNow);
  }

  /** Listens at all addresses of the host. */
  static LookupServer open(
      int port, Applications applications, ReducerServer reducers, ControlLoop loop)
      throws IOException {
    ServerSocketChannel listener = ServerSocketChannel.open();
    try {
      listener.bind(new InetSocketAddress(port), BACKLOG);
    } catch (IOException e) {
      listener.close();
      throw new IOException(
          "port " + port + " (service.port) cannot be listened at: " + e.getMessage(), e);
    }
    LookupServer server = new LookupServer(applications, listener);
    try {
      server.acquired.keep(ProvedServer.open(
          listener,
          loop,
          TIMEOUT_MS,
          new ProvedServer.Protocol(LookupMessages.HELLO, server),
          new ProvedServer.Protocol(ReducerMessages.HELLO, reducers)));
      return server;
    } catch (Throwable t) {
      server.close();
      throw t;
    }
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
  public CompletionStage<ProvedServer.Terms> termsFor(byte[] name) {
    String appId = LookupMessages.appIdOf(name);
    return applications
        .find(appId)
        .thenApply(asked -> new ProvedServer.Terms(
            LookupMessages.proofFor(asked.grant().identity()),
            LookupMessages.contextOf(appId),
            0,
            (channel, address) -> admit(asked, channel, address)));
  }

  private Lookup admit(Application asked, ControlChannel channel, String address) {
    channel.endAt(Deadline.afterMs(TIMEOUT_MS));
    Lookup lookup = new Lookup(asked, channel, address);
    openers.execute(lookup::answer);
    return lookup;
  }

  @Override
  public void refused(String who, Throwable why) {
    refused.increment();
    long held = refusals.tryLog();
    if (held >= 0) {
      LOG.warn(
          "A reader at {} is refused: {}. {} more were refused since the last message.",
          who,
          why.getMessage(),
          held);
    }
  }

  @Override
  public void close() {
    acquired.close();
  }

  /** A reader that has proved itself. */
  private final class Lookup implements ControlChannel.Owner {
    private final Application asked;
    private final ControlChannel channel;
    private final String address;
    private volatile boolean isAnswered;

    Lookup(Application asked, ControlChannel channel, String address) {
      this.asked = asked;
      this.channel = channel;
      this.address = address;
    }

    void answer() {
      try {
        RdmaEndpoint endpoint = asked.endpoint();
        isAnswered = true;
        answered.increment();
        channel.send(LookupMessages.encode(endpoint));
      } catch (IOException | RuntimeException | Error e) {
        LOG.error("Application {} cannot be served", asked.grant(), e);
        channel.close(new IOException("the application cannot be served", e));
      }
    }

    @Override
    public void received(ByteBuffer body) throws ProtocolException {
      throw new ProtocolException("a message that nobody expects");
    }

    @Override
    public void closed(IOException why) {
      if (!isAnswered) {
        refused(address, why);
      }
    }
  }
}
