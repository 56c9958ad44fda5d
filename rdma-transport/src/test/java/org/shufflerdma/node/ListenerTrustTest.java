/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.verbs.Jvm;

/** Root, who runs these tests, can give files to other users and be them. */
@Timeout(120)
class ListenerTrustTest {
  private static final int EXECUTOR = 64_001;
  private static final int SERVICE = 64_002;
  private static final int STRANGER = 64_003;
  private static final int TIMEOUT_MS = 20_000;

  @TempDir
  Path directory;

  private Path folder;
  private Path socket;
  private ListenerTrust trust;

  @BeforeEach
  void makePlace() throws IOException {
    assumeThat(System.getProperty("user.name")).as("root can give files away").isEqualTo("root");
    directory = directory.toRealPath();
    folder = Files.createDirectory(directory.resolve("run"));
    socket = Files.createFile(folder.resolve("node.sock"));
    set(directory, 0, 0_755);
    set(folder, SERVICE, 0_755);
    set(socket, SERVICE, 0_666);
    trust = new ListenerTrust(user(0), user(EXECUTOR));
  }

  private static void set(Path path, int uid, int mode) throws IOException {
    Files.setAttribute(path, "unix:uid", uid);
    Files.setAttribute(path, "unix:mode", mode);
  }

  private static UserPrincipal user(int uid) throws IOException {
    return Path.of("/")
        .getFileSystem()
        .getUserPrincipalLookupService()
        .lookupPrincipalByName(String.valueOf(uid));
  }

  private void assertTrusted(int listener) {
    assertThatCode(() -> trust.check(socket, user(listener))).doesNotThrowAnyException();
  }

  private void assertRefused(int listener, String why) {
    assertThatThrownBy(() -> trust.check(socket, user(listener)))
        .isInstanceOf(UntrustedListenerException.class)
        .hasMessageContaining(String.valueOf(listener))
        .hasMessageContaining(socket.toString())
        .hasMessageContaining(why)
        .hasMessageContaining("Run the node service as");
  }

  @Test
  void rootAndTheOwnUserAreTrustedAnywhere() throws IOException {
    set(folder, STRANGER, 0_777);
    assertTrusted(0);
    assertTrusted(EXECUTOR);
  }

  @Test
  void theOwnerOfAPlaceThatRootHasMadeIsTrusted() {
    assertTrusted(SERVICE);
  }

  @Test
  void whoDoesNotOwnTheSocketOrItsFolderIsRefused() throws IOException {
    assertRefused(STRANGER, folder + " is not that user's");
    set(folder, STRANGER, 0_755);
    assertRefused(STRANGER, socket + " is not that user's");
    set(socket, STRANGER, 0_666);
    set(folder, 0, 0_755);
    assertRefused(STRANGER, folder + " is not that user's");
  }

  @Test
  void aFolderToWhichOthersCanWriteIsNoPlaceForASocket() throws IOException {
    set(folder, SERVICE, 0_775);
    assertRefused(SERVICE, "others can write to " + folder);
    set(folder, SERVICE, 0_757);
    assertRefused(SERVICE, "others can write to " + folder);
    set(folder, SERVICE, 0_1777);
    assertRefused(SERVICE, "anybody could have made " + socket);
  }

  @Test
  void aFolderAboveToWhichOthersCanWriteIsNone() throws IOException {
    set(directory, 0, 0_777);
    assertRefused(SERVICE, "others can write to " + directory);
    set(directory, STRANGER, 0_755);
    assertRefused(SERVICE, directory + " is not that user's");
  }

  /** Anybody can be the first to make a folder in /tmp. */
  @Test
  void whatLiesInAStickyFolderIsTrustedOnlyIfRootOrTheOwnUserMadeIt() throws IOException {
    set(directory, 0, 0_1777);
    assertRefused(SERVICE, "anybody could have made " + folder);
    set(directory, 0, 0_755); // itself in a sticky folder, and root's
    assertTrusted(SERVICE);
    set(directory, EXECUTOR, 0_700);
    assertTrusted(SERVICE);
  }

  @Test
  void symbolicLinksAreNotFollowed() throws IOException {
    Path link = Files.createSymbolicLink(directory.resolve("link"), folder);
    socket = link.resolve(socket.getFileName());
    assertRefused(SERVICE, "symbolic links");
    assertTrusted(0);
  }

  @Test
  void aListenerThatIsNotTrustedIsToldNothing() throws Exception {
    Files.delete(socket);
    set(directory, 0, 0_1777);
    Path classes = Files.createDirectory(directory.resolve("classes"));
    set(classes, 0, 0_755);
    try (Jvm stranger =
        Jvm.startAs(SERVICE, classes, ListenerTrustTest.Listener.class, socket.toString())) {
      stranger.awaitLine("listening");
      Registration registration = new Registration(
          "app-1", new byte[32], new byte[0], new OutputFolders(List.of(directory), 1));
      assertThatThrownBy(
              () -> Registrar.register(socket, registration, Deadline.afterMs(TIMEOUT_MS)))
          .isInstanceOf(UntrustedListenerException.class)
          .hasMessageContaining("anybody could have made " + folder);
      stranger.awaitLine("told 0 bytes");
    }
  }

  /** Says how much it is told, and accepts it, as a node service does. Uses the JDK alone. */
  static final class Listener {
    private Listener() {}

    public static void main(String[] arguments) throws IOException {
      Path socket = Path.of(arguments[0]);
      try (ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
        listener.bind(UnixDomainSocketAddress.of(socket));
        Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
        System.out.println("listening");
        try (SocketChannel channel = listener.accept()) {
          ByteBuffer told = ByteBuffer.allocate(64 << 10);
          int count = channel.read(told);
          System.out.println("told " + Math.max(0, count) + " bytes");
          channel.write(ByteBuffer.allocate(Integer.BYTES));
        }
      }
    }
  }
}
