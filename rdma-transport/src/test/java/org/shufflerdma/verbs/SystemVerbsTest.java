/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The system's libibverbs.so.1 and librdmacm.so.1 are whatever the dynamic linker finds: here the
 * pair that bin/softverbs gives to programs, with the symbol versions of rdma-core, or a broken one.
 */
@Timeout(60)
@OnSoftDevice("brings system libraries of its own")
final class SystemVerbsTest {
  private static final Path FACADES = Path.of("..", "native-verbs", "target", "lib", "softverbs");

  @TempDir
  Path directory;

  /** Uses what only differs with the system's libraries: opening, and registering a file. */
  static final class Probe {
    private Probe() {}

    public static void main(String[] arguments) throws Exception {
      Verbs verbs;
      try {
        verbs = Verbs.open(Provider.SYSTEM);
      } catch (NativeLibraryException e) {
        System.out.println(e.getMessage());
        return;
      }
      System.out.println(
          "devices " + verbs.devices().stream().map(DeviceInfo::name).toList());
      try (EventChannel channel = EventChannel.open();
          ConnectionId id = channel.createId()) {
        id.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        id.listen(1);
        System.out.println("loopback is of device " + id.deviceName());
        registerFile(channel.devices().get(0), Path.of(arguments[0]));
      }
      try {
        verbs.setSecret(new byte[16]);
      } catch (VerbsException e) {
        System.out.println("secret refused with errno " + e.errno());
      }
    }

    private static void registerFile(DeviceContext context, Path path) throws VerbsException {
      try (MappedFile file = MappedFile.open(path);
          ProtectionDomain domain = context.allocProtectionDomain();
          MemoryRegion region = domain.register(file, 0, file.size(), Access.REMOTE_READ)) {
        System.out.println("registered " + region.length() + " bytes");
      }
    }
  }

  @Test
  void aPairWithTheSymbolVersionsOfRdmaCoreIsBound() throws Exception {
    assumeThat(FACADES.resolve("librdmacm.so.1"))
        .as("built by make -C native-verbs")
        .exists();
    Path file = Files.write(directory.resolve("data"), new byte[5000]);
    assertThat(output(FACADES.toRealPath(), file))
        .isEqualTo(
            "devices [softv0]\nloopback is of device null\nregistered 5000 bytes\nsecret refused with errno 95\n");
  }

  @Test
  void aLibraryThatCannotBeOpenedIsNamedWithTheRemedy() throws Exception {
    Files.createFile(directory.resolve("libibverbs.so.1"));
    assertThat(output(directory, directory))
        .contains(directory.resolve("libibverbs.so.1") + ": file too short")
        .contains("install rdma-core's libraries", "use the software device");
  }

  private static String output(Path libraries, Path argument)
      throws IOException, InterruptedException {
    Map<String, String> environment = Map.of("LD_LIBRARY_PATH", libraries.toString());
    try (Jvm jvm = Jvm.start(environment, Probe.class, argument.toString())) {
      return jvm.end();
    }
  }
}
