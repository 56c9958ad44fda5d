/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/**
 * The server's end of connections whose clients prove themselves before the server proves anything or has
 * anything done for them ({@link MutualProof}). Clients that prove nothing are ended in time, and the oldest of
 * many gives way to the next. The loop's thread does everything. Its owner closes it before the loop.
 */
public final class ProvedServer implements Acceptor.Host, AutoCloseable {
  private static final int MAX_UNPROVED = 512;

  /** What is behind the server. The loop's thread calls, which must not be blocked. */
  public interface Service {
    /**
     * On what terms a client comes in that looks for this name. It fails if nobody has the name; what takes time may
     * complete it later, in any thread.
     */
    CompletionStage<Terms> termsFor(byte[] name);

    /** A client, or a new connection, has ended before it had proved itself. */
    void refused(String who, Throwable why);
  }

  /** Lets a client in that has proved itself, and returns whose the channel is from now on. */
  public interface Admission {
    ControlChannel.Owner admit(ControlChannel channel, String address);
  }

  /**
   * On what terms a client comes in.
   *
   * @param context of the proof
   * @param maxBodyBytes of the client's frames from then on
   */
  @SuppressWarnings("ArrayRecordComponent")
  public record Terms(MutualProof proof, byte[] context, int maxBodyBytes, Admission admission) {}

  /** A protocol that clients may speak at the port, by the form of their hello. */
  public record Protocol(Hello.Form form, Service service) {}

  private final ControlLoop loop;
  private final List<Protocol> protocols;
  private final int proofTimeoutMs;
  private final Set<Newcomer> newcomers = ConcurrentHashMap.newKeySet();
  private @Nullable Acceptor acceptor; // set once, by open

  private ProvedServer(ControlLoop loop, List<Protocol> protocols, int proofTimeoutMs) {
    this.loop = loop;
    this.protocols = protocols;
    this.proofTimeoutMs = proofTimeoutMs;
  }

  /**
   * Begins to accept at a bound socket, which remains the caller's if this throws.
   *
   * @param proofTimeoutMs within which a client must have proved itself
   * @param protocols the first of which is told of clients that speak none of them
   */
  public static ProvedServer open(
      ServerSocketChannel listener, ControlLoop loop, int proofTimeoutMs, Protocol... protocols)
      throws IOException {
    ProvedServer server = new ProvedServer(loop, List.of(protocols), proofTimeoutMs);
    server.acceptor = Acceptor.open(listener, loop, server);
    return server;
  }

  @Override
  public void accepted(SocketChannel socket) throws IOException {
    if (newcomers.size() >= MAX_UNPROVED) {
      newcomers.stream()
          .min(Comparator.comparingLong(newcomer -> newcomer.number))
          .ifPresent(oldest -> oldest.end("it has proved nothing while many others came"));
    }
    socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
    socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    new Newcomer(socket).start();
  }

  @Override
  public void notAccepted(Throwable why) {
    protocols.get(0).service().refused("a new client", why);
  }

  /** Ends the clients that have not proved themselves; the others are whose they are. */
  @Override
  public void close() throws IOException {
    Acceptor opened = acceptor;
    if (opened != null) {
      opened.close();
    }
    newcomers.forEach(newcomer -> newcomer.end("the server is closed"));
  }

  private record Agreed(Terms terms, MutualProof.Exchange exchange) {}

  private int maxHelloBytes() {
    return protocols.stream().mapToInt(one -> one.form().sizeBytes()).max().orElse(0);
  }

  private long clients; // touched by the loop's thread alone

  /** A client until it has proved itself; after that it passes on what comes. */
  private final class Newcomer implements ControlChannel.Owner {
    private final long number = clients++;
    private final String address;
    private final ControlChannel channel;

    private volatile Protocol protocol = protocols.get(0);
    private boolean hasAsked; // touched by the loop's thread alone

    /** The terms, and what both ends have drawn, once the hello has been answered. */
    private volatile @Nullable Agreed agreed;

    // Guarded by this.
    private ControlChannel.@Nullable Owner owner;
    private @Nullable IOException end;

    Newcomer(SocketChannel socket) throws IOException {
      this.address = String.valueOf(socket.getRemoteAddress());
      this.channel = new ControlChannel(socket, loop, maxHelloBytes(), this);
    }

    void start() throws IOException {
      newcomers.add(this);
      try {
        channel.endAt(Deadline.afterMs(proofTimeoutMs));
        channel.start();
      } catch (Throwable t) {
        newcomers.remove(this);
        throw t;
      }
    }

    void end(String why) {
      channel.close(new ProtocolException(why));
    }

    @Override
    public void received(ByteBuffer body) throws IOException {
      ControlChannel.Owner owning = owner();
      Agreed answered = agreed;
      if (owning != null) {
        owning.received(body);
      } else if (answered != null) {
        letIn(answered.terms(), answered.exchange(), body);
      } else {
        ask(body);
      }
    }

    private synchronized ControlChannel.@Nullable Owner owner() {
      return owner;
    }

    private void ask(ByteBuffer body) throws ProtocolException {
      if (hasAsked) {
        throw new ProtocolException("a frame before the answer to the first one");
      }
      hasAsked = true;
      Protocol spoken = protocols.stream()
          .filter(one -> one.form().isFormOf(body))
          .findFirst()
          .orElse(protocols.get(0));
      protocol = spoken;
      Hello hello = spoken.form().decode(body);
      spoken.service().termsFor(hello.name()).whenComplete((terms, failure) -> {
        try {
          if (terms == null) {
            throw new ProtocolException(
                failure == null ? "nobody has the name" : String.valueOf(failure.getMessage()));
          }
          answer(hello, terms);
        } catch (ProtocolException e) {
          channel.close(e);
        } catch (RuntimeException e) { // else nobody would hear of it
          channel.close(new IOException("the hello could not be answered", e));
        }
      });
    }

    private void answer(Hello hello, Terms terms) throws ProtocolException {
      MutualProof proof = terms.proof();
      proof.readHello(hello.mac(), hello.challenge(), terms.context());
      MutualProof.Exchange drawn =
          new MutualProof.Exchange(hello.challenge(), proof.challenge(), terms.context());
      agreed = new Agreed(terms, drawn);
      channel.send(proof.answer(drawn));
    }

    private void letIn(Terms terms, MutualProof.Exchange drawn, ByteBuffer sent)
        throws ProtocolException {
      terms.proof().readProof(sent, drawn);
      byte[] key = terms.proof().frameKey(drawn);
      channel.seal(new FrameSeal(key, 'S'), new FrameSeal(key, 'C'), terms.maxBodyBytes());
      channel.endAt(null);
      newcomers.remove(this);
      ControlChannel.Owner owning = terms.admission().admit(channel, address);
      IOException ended;
      synchronized (this) {
        owner = owning;
        ended = end;
      }
      if (ended != null) { // meanwhile
        owning.closed(ended);
      }
    }

    @Override
    public void closed(IOException why) {
      ControlChannel.Owner owning;
      synchronized (this) {
        end = why;
        owning = owner;
      }
      if (owning != null) {
        owning.closed(why);
      } else if (newcomers.remove(this)) {
        protocol.service().refused(address, why);
      }
    }
  }
}
