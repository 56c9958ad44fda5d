/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.assertj.core.api.Assumptions.assumeThatCode;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The device that the tests run on: the software device, or where {@code RDMA_TEST_DEVICE} names one
 * the system's, whose IP addresses are {@code RDMA_TEST_ADDRESS} and {@code RDMA_TEST_ADDRESS6}.
 */
public final class TestDevice {
  private static final @Nullable String NAME = System.getenv("RDMA_TEST_DEVICE");

  private TestDevice() {}

  /** Objects that are open: in this process on the software device, else on the whole device. */
  public record Live(long domains, long regions, long queues, long queuePairs) {}

  public static boolean isSoft() {
    return NAME == null;
  }

  public static String name() {
    return NAME == null ? "softv0" : NAME;
  }

  /** Its verbs, and no others in this process. */
  public static Verbs open() throws VerbsException {
    if (isSoft()) {
      return Verbs.open(Provider.SOFT);
    }
    Verbs verbs = Verbs.open(Provider.SYSTEM);
    try {
      assertThat(Files.readString(Path.of("/proc/self/maps")))
          .contains("/libibverbs.so.1", "/librdmacm.so.1")
          .doesNotContain("softverbs");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return verbs;
  }

  public static InetAddress address() {
    return isSoft()
        ? InetAddress.getLoopbackAddress()
        : resolved(System.getenv("RDMA_TEST_ADDRESS"));
  }

  public static InetAddress address6() {
    return isSoft() ? resolved("::1") : resolved(System.getenv("RDMA_TEST_ADDRESS6"));
  }

  private static InetAddress resolved(String address) {
    try {
      return InetAddress.getAllByName(address)[0];
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What READs of this process have brought, by whatever path. */
  public static long readBytes(SoftCounters counters) {
    return counters.readBytesFile() + counters.readBytesCma() + counters.readBytesWire();
  }

  public static Live live() throws IOException {
    if (isSoft()) {
      SoftCounters counters = open().softCounters();
      return new Live(counters.pdLive(), counters.mrLive(), counters.cqLive(), counters.qpLive());
    }
    Process rdma = new ProcessBuilder("rdma", "resource", "show", name())
        .redirectErrorStream(true)
        .start();
    String shown = new String(rdma.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Live(count(shown, "pd"), count(shown, "mr"), count(shown, "cq"), count(shown, "qp"));
  }

  /**
   * Skips the test where a device of the system's cannot have one region of so many bytes, which it
   * pins: for want of memory, or because its kernel refuses.
   */
  public static void assumeTakes(long bytes) throws IOException {
    if (isSoft()) {
      return;
    }
    assumeThat(freeMemoryBytes()).as("free memory").isGreaterThan(bytes + (1L << 30));
    open();
    try (EventChannel channel = EventChannel.open();
        ConnectionId id = channel.createId();
        NativeMemory memory = NativeMemory.allocate(bytes, false)) {
      id.bind(new InetSocketAddress(address(), 0));
      try (ProtectionDomain domain = Objects.requireNonNull(id.context()).allocProtectionDomain()) {
        assumeThatCode(() ->
                domain.register(memory.address(), bytes, Access.REMOTE_READ).close())
            .as("the kernel's device takes one region of %d bytes", bytes)
            .doesNotThrowAnyException();
      }
    }
  }

  private static long freeMemoryBytes() throws IOException {
    try (Stream<String> lines = Files.lines(Path.of("/proc/meminfo"))) {
      String available =
          lines.filter(line -> line.startsWith("MemAvailable:")).findFirst().orElseThrow();
      return Long.parseLong(available.replaceAll("[^0-9]", "")) << 10;
    }
  }

  private static long count(String shown, String kind) {
    Matcher matcher = Pattern.compile("\\b" + kind + " (\\d+)").matcher(shown);
    assertThat(matcher.find()).as("%s in: %s", kind, shown).isTrue();
    return Long.parseLong(matcher.group(1));
  }
}
