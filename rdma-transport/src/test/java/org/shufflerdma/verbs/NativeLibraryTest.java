/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
final class NativeLibraryTest {
  @TempDir
  Path directory;

  /** Opens the software device in a fresh JVM, with natives unpacked below its argument. */
  static final class Opener {
    private Opener() {}

    public static void main(String[] arguments) {
      try {
        Verbs verbs = Verbs.openInstead(
            Provider.SOFT, NativeDirectory.ofSetting("app.nativeDir", arguments[0]));
        System.out.println("opened " + verbs.devices().get(0).name());
      } catch (VerbsException e) {
        System.out.println(e.getClass().getSimpleName() + " " + e.getMessage());
      }
    }
  }

  @Test
  void nothingIsLeftInTheDirectory() throws Exception {
    assertThat(open(directory)).isEqualTo("opened softv0\n");
    try (Stream<Path> left = Files.list(directory)) {
      assertThat(left).isEmpty();
    }
  }

  @Test
  void aDirectoryThatCannotBeMadeIsNamedWithTheRemedy() throws Exception {
    Path file = Files.createFile(directory.resolve("file"));
    assertThat(open(file.resolve("natives")))
        .startsWith("NativeLibraryException cannot unpack libdisni.so below " + file)
        .contains("set app.nativeDir (or -Djava.io.tmpdir) to");
  }

  @Test
  void aLinkToADirectoryServesAsOne() throws Exception {
    Path link = Files.createSymbolicLink(
        directory.resolve("link"), Files.createDirectory(directory.resolve("natives")));
    assertThat(open(link)).isEqualTo("opened softv0\n");
  }

  @Test
  void everyRefusalOfTheLinkerNamesFileReasonAndRemedy() {
    NativeDirectory base = NativeDirectory.ofSetting("app.nativeDir", directory.toString());
    Path file = directory.resolve("shuffle-rdma-1").resolve("libdisni.so");
    String policy = file + ": failed to map segment from shared object";
    assertThat(NativeLibrary.refusal(file, base, policy))
        .contains(file.toString(), policy, "SELinux", "set app.nativeDir (or -Djava.io.tmpdir) to")
        .doesNotContain("noexec");
    String musl = "Error loading shared library ld-linux-x86-64.so.2: No such file or directory"
        + " (needed by " + file + ")";
    assertThat(NativeLibrary.refusal(file, base, musl))
        .contains(file.toString(), musl, "musl (Alpine)", "Debian")
        .doesNotContain("mvn");
    String oldLibc = "/lib64/libc.so.6: version `GLIBC_2.28' not found (required by " + file + ")";
    assertThat(NativeLibrary.refusal(file, base, oldLibc))
        .contains(file.toString(), oldLibc, "glibc 2.28 or newer", "mvn package");
  }

  @Test
  void aNoexecDirectoryIsNamedWithTheRemedy() throws Exception {
    assumeThat(run("mount", "-t", "tmpfs", "-o", "noexec", "none", directory.toString()))
        .as("may mount a tmpfs (root only)")
        .isZero();
    try {
      assertThat(open(directory))
          .startsWith("NativeLibraryException cannot load " + directory)
          .contains(directory + " is mounted noexec", "set app.nativeDir (or -Djava.io.tmpdir) to");
    } finally {
      assertThat(run("umount", directory.toString())).isZero();
    }
  }

  @Test
  @OnSoftDevice("loads it into this process")
  void twoClassLoadersHaveTheirOwnNatives() throws Exception {
    List<URL> urls = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      urls.add(Path.of(entry).toUri().toURL());
    }
    for (int i = 0; i < 2; i++) {
      try (URLClassLoader loader =
          new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
        Class<?> verbs = loader.loadClass(Verbs.class.getName());
        Class<?> provider = loader.loadClass(Provider.class.getName());
        Object opened = verbs
            .getMethod("open", provider)
            .invoke(null, provider.getMethod("valueOf", String.class).invoke(null, "SOFT"));
        assertThat(opened).isNotInstanceOf(Verbs.class);
        assertThat(verbs.getMethod("devices").invoke(opened))
            .asInstanceOf(InstanceOfAssertFactories.LIST)
            .hasSize(1);
      }
    }
  }

  private static String open(Path directory) throws Exception {
    try (Jvm jvm = Jvm.start(Map.of(), Opener.class, directory.toString())) {
      return jvm.end();
    }
  }

  private static int run(String... command) throws Exception {
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).inheritIO().start();
    assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
    return process.exitValue();
  }
}
