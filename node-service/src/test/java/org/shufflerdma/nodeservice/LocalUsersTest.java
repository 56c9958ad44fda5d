/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registrar;
import org.shufflerdma.node.Registration;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.TestDevice;

/** What a process of another user does to a service, in a process of its own, does not harm root's executors. */
@Timeout(180)
class LocalUsersTest {
  private static final int STRANGER = 64_001;
  private static final int TIMEOUT_MS = 20_000;
  private static final int MANY = 200;

  /** More than the service has threads that look at folders. */
  private static final int HUNG = 16;

  @TempDir
  Path directory;

  private ServiceProcess service;
  private Jvm stranger;

  @BeforeEach
  void start() throws Exception {
    assumeThat(System.getProperty("user.name")).as("root can be other users").isEqualTo("root");
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    service = new ServiceProcess(directory, 8 << 20);
    stranger = Jvm.startAs(
        STRANGER,
        Files.createDirectory(directory.resolve("classes")),
        Stranger.class,
        service.socket.toString());
    stranger.awaitLine("ready");
  }

  @AfterEach
  void stop() throws Exception {
    if (stranger != null) {
      stranger.close();
    }
    if (service != null) {
      service.close();
    }
  }

  private OutputFolders folders(String name, int uid) throws IOException {
    Path folder = Files.createDirectory(directory.resolve(name));
    Files.setAttribute(folder, "unix:uid", uid);
    return new OutputFolders(List.of(folder), 64);
  }

  private static ByteBuffer frameOf(String appId, OutputFolders folders) {
    return ControlChannel.frameOf(registration(appId, folders).encode(), null);
  }

  private static Registration registration(String appId, OutputFolders folders) {
    return new Registration(appId, new byte[32], new byte[TestDevice.isSoft() ? 32 : 0], folders);
  }

  private void register(String appId, OutputFolders folders) throws IOException {
    Registrar.register(service.socket, registration(appId, folders), Deadline.afterMs(TIMEOUT_MS));
  }

  private void awaitApplications(int count) throws Exception {
    Await.until(() -> service.metric(ServiceMetric.APPLICATIONS) == count);
  }

  @Test
  void connectionsOfOneUserEndNoneOfAnother() throws Exception {
    ByteBuffer frame = frameOf("app-1", folders("first", 0));
    try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(service.socket))) {
      ByteBuffer half = frame.duplicate();
      half.limit(frame.limit() / 2);
      channel.write(half);
      stranger.say("connect " + MANY);
      stranger.awaitLine("others had to go");
      frame.position(half.position());
      channel.write(frame);
      ByteBuffer answer = ByteBuffer.allocate(Integer.BYTES);
      assertThat(channel.read(answer)).isEqualTo(Integer.BYTES);
      assertThat(answer.getInt(0)).as("length of the reason of a refusal").isZero();
    }
    assertThat(service.metric(ServiceMetric.EXECUTORS)).isEqualTo(1);
  }

  @Test
  void aFileSystemThatHangsStopsItsUserAlone() throws Exception {
    OutputFolders ofStranger = folders("stranger", STRANGER);
    stranger.say("send 1 " + hex(frameOf("app-2", ofStranger)));
    stranger.awaitLine("sent");
    awaitApplications(1);
    try (HungFileSystem hung = HungFileSystem.mount(ofStranger.localDirs().get(0))) {
      OutputFolders below = new OutputFolders(List.of(hung.folder().resolve("below")), 64);
      stranger.say("send " + HUNG + " " + hex(frameOf("app-3", below)));
      stranger.awaitLine("sent");
      for (int i = 0; i < 2; i++) { // while the first sweep hangs, and in the next one
        OutputFolders own = folders("own" + i, 0);
        register("app-1", own);
        awaitApplications(2);
        Files.delete(own.localDirs().get(0));
        awaitApplications(1);
      }
    }
  }

  private static String hex(ByteBuffer bytes) {
    byte[] copy = new byte[bytes.remaining()];
    bytes.duplicate().get(copy);
    return HexFormat.of().formatHex(copy);
  }

  /** A mounted file system whose daemon answers nothing, until it is closed. */
  private record HungFileSystem(Path folder, Process daemon) implements AutoCloseable {
    private static final String DAEMON =
        "exec 3<>/dev/fuse && mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hung \"$0\""
            + " && echo mounted && exec cat >/dev/null";

    static HungFileSystem mount(Path folder) throws IOException {
      Process daemon = new ProcessBuilder("bash", "-c", DAEMON, folder.toString())
          .redirectErrorStream(true)
          .start();
      String said = daemon.inputReader().readLine();
      assumeThat(said).as("a kernel and a user that can mount by FUSE").isEqualTo("mounted");
      return new HungFileSystem(folder, daemon);
    }

    /** Whoever waits for the daemon gets an error when it has ended. */
    @Override
    public void close() throws IOException {
      awaitEnd(daemon.destroyForcibly());
      awaitEnd(new ProcessBuilder("umount", "-l", folder.toString()).inheritIO().start());
    }

    private static void awaitEnd(Process process) {
      process.onExit().orTimeout(TIMEOUT_MS, TimeUnit.MILLISECONDS).join();
    }
  }

  /** Does what the lines of its standard input say. Uses the JDK alone. */
  static final class Stranger {
    private Stranger() {}

    public static void main(String[] arguments) throws Exception {
      UnixDomainSocketAddress socket = UnixDomainSocketAddress.of(arguments[0]);
      List<SocketChannel> open = new ArrayList<>();
      System.out.println("ready");
      for (String line = readLine(); !line.isEmpty(); line = readLine()) {
        String[] words = line.split(" ", -1);
        int count = Integer.parseInt(words[1]);
        for (int i = 0; i < count; i++) {
          SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
          channel.connect(socket); // waits while too many wait
          open.add(channel);
          if (words[0].equals("send")) {
            channel.write(ByteBuffer.wrap(HexFormat.of().parseHex(words[2])));
          }
        }
        if (words[0].equals("connect")) {
          for (SocketChannel early : open.subList(0, count / 2)) {
            early.read(ByteBuffer.allocate(1)); // until its end
          }
          System.out.println("others had to go");
        } else {
          System.out.println("sent");
        }
      }
    }

    private static String readLine() throws IOException {
      StringBuilder line = new StringBuilder();
      for (int c = System.in.read(); c >= 0 && c != '\n'; c = System.in.read()) {
        line.append((char) c);
      }
      return line.toString();
    }
  }
}
