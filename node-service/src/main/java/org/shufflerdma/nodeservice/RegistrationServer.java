/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import jdk.net.ExtendedSocketOptions;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the registrations of this host's executors at a unix socket. The kernel says whose process it is, and
 * the folders must be that user's. Closed by its owner.
 */
final class RegistrationServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RegistrationServer.class);
  private static final int BACKLOG = 128;
  private static final int WORKERS = 4;
  private static final int TIMEOUT_MS = 5_000;
  private static final int MAX_OPEN = 256;
  private static final int MAX_ANSWER_CHARS = 1_000;

  private final Applications applications;
  private final ServerSocketChannel listener;
  private final ScheduledThreadPoolExecutor timer;
  private final ThreadPoolExecutor workers;
  private final Set<SocketChannel> open = ConcurrentHashMap.newKeySet();
  private final LogThrottle refusals =
      new LogThrottle(TimeUnit.MINUTES.toNanos(1), System::nanoTime);
  private final Acquired acquired = new Acquired();

  private RegistrationServer(Path socket, Applications applications, ServerSocketChannel listener) {
    this.applications = applications;
    this.listener = listener;
    acquired.keep(() -> Files.deleteIfExists(socket));
    acquired.keep(listener);
    workers = Workers.pool("registration", WORKERS);
    acquired.keep(workers::shutdownNow);
    timer = new ScheduledThreadPoolExecutor(1, body -> Workers.thread("registration-timer", body));
    timer.setRemoveOnCancelPolicy(true);
    acquired.keep(timer::shutdownNow);
  }

  static RegistrationServer open(Path socket, Applications applications) throws IOException {
    removeStale(socket);
    Path folder = socket.getParent();
    if (folder != null) {
      Folders.make(folder, "service.socket");
    }
    ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      listener.bind(UnixDomainSocketAddress.of(socket), BACKLOG);
      Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
    } catch (IOException | RuntimeException e) {
      listener.close();
      throw new IOException(
          socket + " (service.socket) cannot be listened at: " + e.getMessage()
              + ". Give its folder to the user of this service, or name another path",
          e);
    }
    RegistrationServer server = new RegistrationServer(socket, applications, listener);
    Workers.thread("registration-listener", server::accept).start();
    return server;
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

  private void accept() {
    while (listener.isOpen()) {
      try {
        SocketChannel executor = listener.accept();
        if (open.size() >= MAX_OPEN) {
          close(executor); // it tries again
          continue;
        }
        open.add(executor);
        ScheduledFuture<?> deadline =
            timer.schedule(() -> close(executor), TIMEOUT_MS, TimeUnit.MILLISECONDS);
        workers.execute(() -> serve(executor, deadline));
      } catch (ClosedChannelException | RejectedExecutionException e) {
        return;
      } catch (IOException e) {
        LOG.warn("A registration could not be accepted", e);
        pause();
      }
    }
  }

  private static void pause() {
    try {
      TimeUnit.SECONDS.sleep(1); // until there are descriptors again
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void serve(SocketChannel executor, ScheduledFuture<?> deadline) {
    try {
      String answer = "";
      try {
        register(executor);
      } catch (RefusedException | ProtocolException | IllegalArgumentException e) {
        answer = printable(String.valueOf(e.getMessage()));
        noteRefusal(answer);
      }
      executor.write(
          ControlChannel.frameOf(ByteBuffer.wrap(answer.getBytes(StandardCharsets.UTF_8)), null));
    } catch (IOException | RuntimeException e) {
      noteRefusal(printable(e.toString()));
    } finally {
      deadline.cancel(false);
      close(executor);
    }
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

  private void register(SocketChannel executor) throws IOException {
    UserPrincipal user = executor.getOption(ExtendedSocketOptions.SO_PEERCRED).user();
    int bytes = take(executor, Integer.BYTES).getInt();
    if (bytes <= 0 || bytes > Registration.MAX_BYTES) {
      throw new ProtocolException("a registration of " + bytes + " bytes");
    }
    Registration sent = Registration.decode(take(executor, bytes).array());
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

  private static ByteBuffer take(SocketChannel from, int bytes) throws IOException {
    ByteBuffer taken = ByteBuffer.allocate(bytes);
    while (taken.hasRemaining()) {
      if (from.read(taken) < 0) {
        throw new EOFException("the executor has closed the connection");
      }
    }
    return taken.flip();
  }

  private void close(SocketChannel executor) {
    open.remove(executor);
    try {
      executor.close();
    } catch (IOException e) {
      LOG.debug("A registration could not be closed", e);
    }
  }

  @Override
  public void close() {
    acquired.close();
  }
}
