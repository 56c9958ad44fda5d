/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import jdk.net.ExtendedSocketOptions;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ProtocolException;
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

  private final Applications applications;
  private final ServerSocketChannel listener;
  private final ScheduledThreadPoolExecutor timer;
  private final ThreadPoolExecutor workers;
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
      Files.createDirectories(folder);
    }
    ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      listener.bind(UnixDomainSocketAddress.of(socket), BACKLOG);
      Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
    } catch (Throwable t) {
      listener.close();
      throw t;
    }
    RegistrationServer server = new RegistrationServer(socket, applications, listener);
    Workers.thread("registration-listener", server::accept).start();
    return server;
  }

  /** A service that was killed leaves its socket, to which nobody listens. */
  private static void removeStale(Path socket) throws IOException {
    if (!Files.exists(socket)) {
      return;
    }
    try (SocketChannel other = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      other.connect(UnixDomainSocketAddress.of(socket));
    } catch (IOException e) {
      LOG.info("Replacing {}, to which nobody listens", socket);
      Files.delete(socket);
      return;
    }
    throw new IOException("another node service listens at " + socket);
  }

  private void accept() {
    while (listener.isOpen()) {
      try {
        SocketChannel executor = listener.accept();
        workers.execute(() -> serve(executor));
      } catch (ClosedChannelException e) {
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

  private void serve(SocketChannel executor) {
    ScheduledFuture<?> deadline =
        timer.schedule(() -> close(executor), TIMEOUT_MS, TimeUnit.MILLISECONDS);
    try {
      String answer = "";
      try {
        register(executor);
      } catch (RefusedException | ProtocolException | IllegalArgumentException e) {
        answer = String.valueOf(e.getMessage());
        LOG.warn("A registration is refused: {}", answer);
      }
      executor.write(
          ControlChannel.frameOf(ByteBuffer.wrap(answer.getBytes(StandardCharsets.UTF_8)), null));
    } catch (IOException e) {
      LOG.warn("A registration failed: {}", e.toString());
    } finally {
      deadline.cancel(false);
      close(executor);
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
    for (Path dir : sent.folders().localDirs()) {
      dirs.add(requireOwned(dir, user));
    }
    applications.register(
        new Registration(
            sent.appId(),
            sent.key(),
            sent.deviceSecret(),
            new OutputFolders(dirs, sent.folders().subDirs())),
        user.getName());
  }

  private static Path requireOwned(Path dir, UserPrincipal user) throws RefusedException {
    try {
      Path real = dir.toRealPath();
      if (Files.isDirectory(real) && Files.getOwner(real).equals(user)) {
        return real;
      }
    } catch (IOException e) {
      throw new RefusedException(dir + " cannot be used: " + e);
    }
    throw new RefusedException(dir + " is no folder of user " + user.getName());
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

  private static void close(SocketChannel executor) {
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
