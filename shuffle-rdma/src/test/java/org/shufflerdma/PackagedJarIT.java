/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.Verbs;
import org.slf4j.Logger;

/** What only the packaged jar has: relocated DiSNI classes and the natives inside. */
@Timeout(120)
final class PackagedJarIT {
  private static final Path JAR = Path.of(System.getProperty("shuffle.rdma.jar"));

  /** Opens the software device and a connection id through the relocated dispatcher. */
  static final class Probe {
    private Probe() {}

    public static void main(String[] arguments) throws Exception {
      Verbs verbs = Verbs.open(Provider.SOFT);
      try (EventChannel channel = EventChannel.open();
          ConnectionId id = channel.createId()) {
        System.out.println(verbs.devices().get(0).name() + " " + id.isOpen());
      }
      System.out.println(Class.forName("com.ibm.disni.verbs.impl.RdmaProviderNat")
          .getProtectionDomain()
          .getCodeSource()
          .getLocation());
    }
  }

  @Test
  void anotherDisniJarAheadOnTheClassPathDoesNoHarm() throws Exception {
    Path disni = jarOf(com.ibm.disni.verbs.RdmaCm.class);
    Path testClasses = jarOf(Probe.class);
    String classPath = Jvm.classPath(disni, JAR, jarOf(Logger.class), testClasses);
    try (Jvm jvm = Jvm.start(classPath, List.of(), Map.of(), Probe.class.getName())) {
      assertThat(jvm.end())
          .contains("softv0 true", disni.getFileName().toString())
          .doesNotContain("WARNING in native");
      assertThat(jvm.exitValue()).isZero();
    }
  }

  @Test
  void theJarHoldsTheNativesAndNothingThatIsNotRelocated() throws IOException {
    try (JarFile jar = new JarFile(JAR.toFile())) {
      assertThat(jar.stream().map(Object::toString))
          .anyMatch(name -> name.matches("native/linux-\\w+/libdisni\\.so"))
          .anyMatch(name -> name.matches("native/linux-\\w+/libsoftverbs\\.so\\.1"))
          .noneMatch(name -> name.startsWith("com/") || name.startsWith("io/"))
          .contains("org/shufflerdma/shaded/disni/verbs/impl/NativeDispatcher.class");
    }
  }

  private static Path jarOf(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  @Test
  void aDeviceIsVerifiedByTheJarAlone(@TempDir Path directory) throws Exception {
    Path report = directory.resolve("report.txt");
    List<String> arguments = List.of(
        "--device",
        "soft",
        "--dir",
        directory.toString(),
        "--size",
        "4m",
        "--report",
        report.toString());
    try (Jvm jvm = Jvm.start(
        Jvm.classPath(JAR), List.of(), Map.of(), mainClass(), arguments.toArray(String[]::new))) {
      assertThat(jvm.end()).contains("softv0").doesNotContain("SLF4J");
      assertThat(jvm.exitValue()).isZero();
    }
    assertThat(report).content().contains(JAR.getFileName().toString());
  }

  /** Returns what {@code java -jar} runs. */
  private static String mainClass() throws IOException {
    try (JarFile jar = new JarFile(JAR.toFile())) {
      return jar.getManifest().getMainAttributes().getValue(Attributes.Name.MAIN_CLASS);
    }
  }
}
