/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.Consumer;
import jdk.net.ExtendedSocketOptions;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.control.Acceptor;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the registrations of this host's executors at a unix socket. The kernel says whose process it is, and
 * the folders must be that user's. A loop of its own reads the connections, and workers look at the folders,
 * one at a time of each user's, so that a file system that hangs stops its user alone. A user has so many
 * places; the oldest of its connections gives way to its next. Closed by its owner.
 */
final class RegistrationServer implements Acceptor.Host, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RegistrationServer.class);
  private static final int BACKLOG = 512;
  private static final int WORKERS = 8;
  private static final int TIMEOUT_MS = 5_000;
  private static final int MAX_OPEN_OF_A_USER = 64;
  private static final int MAX_WAITING_OF_A_USER = 16;
  private static final int MAX_ANSWER_CHARS = 1_000;

  private final Applications applications;
  private final ControlLoop loop;
  private final PerPeerExecutor<UserPrincipal> lanes;
  private final LogThrottle refusals = new LogThrottle();
  private final Acquired acquired = new Acquired();

  /** The places of each user. Guarded by this. */
  private final Map<UserPrincipal, Places> places = new HashMap<>();

  /** What one user has under way. */
  private static final class Places {
    final Deque<Executor> open = new ArrayDeque<>();
    int waiting;

    boolean isEmpty() {
      return open.isEmpty() && waiting == 0;
    }
  }

  private RegistrationServer(Applications applications, ControlLoop loop) {
    this.applications = applications;
    this.loop = loop;
    acquired.keep(loop::close);
    ThreadPoolExecutor workers = Workers.pool("registration", WORKERS);
    acquired.keep(workers::shutdownNow);
    this.lanes = new PerPeerExecutor<>(workers, 1);
  }

  /**
   * Listens at the socket.
   *
   * @param whenDead is told if the thread that reads dies
   */
  static RegistrationServer open(
      Path socket, Applications applications, Consumer<Throwable> whenDead) throws IOException {
    removeStale(socket);
    Path folder = socket.getParent();
    if (folder != null) {
      Folders.make(folder, "service.socket");
    }
    RegistrationServer server =
        new RegistrationServer(applications, ControlLoop.open("registration-loop", whenDead));
    try {
      server.listen(socket);
      return server;
    } catch (Throwable t) {
      server.close();
      throw t;
    }
  }

  private void listen(Path socket) throws IOException {
    ServerSocketChannel listener =
        acquired.keep(ServerSocketChannel.open(StandardProtocolFamily.UNIX));
    try {
      listener.bind(UnixDomainSocketAddress.of(socket), BACKLOG);
      acquired.keep(() -> Files.deleteIfExists(socket));
      Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
    } catch (IOException | RuntimeException e) {
      throw new IOException(
          socket + " (service.socket) cannot be listened at: " + e.getMessage()
              + ". Give its folder to the user of this service, or name another path",
          e);
    }
    acquired.keep(Acceptor.open(listener, loop, this));
  }

  /** A service that was killed leaves its socket, to which nobody listens. */
  private static void removeStale(Path socket) throws IOException {
    if (!Files.exists(socket, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    if (!Files.readAttributes(socket, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        .isOther()) {
      throw new IOException(
          socket + " (service.socket) is there and no socket: remove it, or name another path");
    }
    try (SocketChannel other = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      other.configureBlocking(false); // a service that is stopped would keep this one waiting
      other.connect(UnixDomainSocketAddress.of(socket));
    } catch (ConnectException e) {
      LOG.info("Replacing {}, to which nobody listens", socket);
      Files.delete(socket);
      return;
    }
    throw new IOException("another node service listens at " + socket
        + " (service.socket): stop it, or name another path");
  }

  @Override
  public void accepted(SocketChannel socket) throws IOException {
    UserPrincipal user = socket.getOption(ExtendedSocketOptions.SO_PEERCRED).user();
    Executor executor = new Executor(socket, user);
    Executor oldest = null;
    synchronized (this) {
      Places own = places.computeIfAbsent(user, key -> new Places());
      own.open.add(executor);
      if (own.open.size() > MAX_OPEN_OF_A_USER) {
        oldest = own.open.peek();
      }
    }
    if (oldest != null) {
      oldest.channel.close(new IOException("many others of its user came"));
    }
    executor.channel.endAt(Deadline.afterMs(TIMEOUT_MS));
    executor.channel.start();
  }

  @Override
  public void notAccepted(Throwable why) {
    noteRefusal(printable(why.toString()));
  }

  /** What others have written must not look like a line of its own in the log. */
  private static String printable(String text) {
    String plain = text.replaceAll("\\p{Cntrl}", "?");
    return plain.length() > MAX_ANSWER_CHARS ? plain.substring(0, MAX_ANSWER_CHARS) : plain;
  }

  private void noteRefusal(String why) {
    long held = refusals.tryLog();
    if (held >= 0) {
      LOG.warn(
          "A registration is refused: {}. {} more were refused since the last message.", why, held);
    }
  }

  /** One connection. The loop's thread reads it. */
  private final class Executor implements ControlChannel.Owner {
    private final UserPrincipal user;
    private final ControlChannel channel;

    Executor(SocketChannel socket, UserPrincipal user) {
      this.user = user;
      this.channel = new ControlChannel(socket, loop, Registration.MAX_BYTES, this);
    }

    @Override
    public void received(ByteBuffer body) throws ProtocolException {
      synchronized (RegistrationServer.this) {
        Places own = places.get(user);
        if (own == null || own.waiting == MAX_WAITING_OF_A_USER) {
          throw new ProtocolException("too many registrations of its user wait"); // it tries again
        }
        own.waiting++;
      }
      lanes.execute(user, () -> serve(body));
    }

    /** Runs in a worker. */
    private void serve(ByteBuffer body) {
      try {
        String answer = "";
        try {
          byte[] sent = new byte[body.remaining()];
          body.get(sent);
          register(Registration.decode(sent), user);
        } catch (RefusedException | ProtocolException | IllegalArgumentException e) {
          answer = printable(String.valueOf(e.getMessage()));
          noteRefusal(answer);
        }
        channel.send(ByteBuffer.wrap(answer.getBytes(StandardCharsets.UTF_8)));
        channel.close(new IOException("it is answered"));
      } catch (IOException | RuntimeException | Error e) {
        noteRefusal(printable(e.toString()));
        channel.close(new IOException("it could not be registered", e));
      } finally {
        synchronized (RegistrationServer.this) {
          Places own = places.get(user);
          if (own != null) {
            own.waiting--;
            forgetIfEmpty(own);
          }
        }
      }
    }

    @Override
    public void closed(IOException why) {
      LOG.debug("A registration of {} ends: {}", user, why.getMessage());
      synchronized (RegistrationServer.this) {
        Places own = places.get(user);
        if (own != null) {
          own.open.remove(this);
          forgetIfEmpty(own);
        }
      }
    }

    /** Guarded by the server. */
    private void forgetIfEmpty(Places own) {
      if (own.isEmpty()) {
        places.remove(user);
      }
    }
  }

  private void register(Registration sent, UserPrincipal user) throws IOException {
    List<Path> dirs = new ArrayList<>();
    Set<Integer> uids = new HashSet<>();
    for (Path dir : sent.folders().localDirs()) {
      Path real = realPathOf(dir);
      dirs.add(real);
      uids.add(uidOfOwner(real, user));
    }
    if (uids.size() != 1) {
      throw new RefusedException("the folders belong to several users");
    }
    applications.register(
        new Registration(
            sent.appId(),
            sent.key(),
            sent.deviceSecret(),
            new OutputFolders(dirs, sent.folders().subDirs())),
        uids.iterator().next());
  }

  private static Path realPathOf(Path dir) throws RefusedException {
    try {
      return dir.toRealPath();
    } catch (IOException e) {
      throw new RefusedException(dir + " cannot be used: " + e);
    }
  }

  /** One look at the folder tells who owns it, since it may be another one at the next look. */
  private static int uidOfOwner(Path dir, UserPrincipal user) throws RefusedException {
    try {
      Map<String, Object> look =
          Files.readAttributes(dir, "unix:uid,owner,isDirectory", LinkOption.NOFOLLOW_LINKS);
      if (Boolean.TRUE.equals(look.get("isDirectory"))
          && user.equals(look.get("owner"))
          && look.get("uid") instanceof Integer uid) {
        return uid;
      }
    } catch (IOException e) {
      throw new RefusedException(dir + " cannot be used: " + e);
    }
    throw new RefusedException(
        dir + " is no folder of user " + user.getName() + ", whose process registers it");
  }

  @Override
  public void close() {
    acquired.close();
  }
}
