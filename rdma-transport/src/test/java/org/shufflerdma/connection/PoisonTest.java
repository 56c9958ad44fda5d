/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.verbs.OnSoftDevice;

/**
 * Runs {@link PoisonedBuffers} on the device's wire, where the bytes of every second READ arrive
 * late: as it is, and with a {@code RegisteredBuffer} first on its class path that breaks the rule of
 * reuse.
 */
@Timeout(120)
@OnSoftDevice("its READs can be made late")
class PoisonTest {
  private static final Path REGISTERED_BUFFER =
      Path.of("src/main/java/org/shufflerdma/memory/RegisteredBuffer.java");
  private static final String RULE = "if (after == 0) {";

  /** A buffer is back when its last user lets go, though READs into it are posted. */
  private static final String BROKEN_RULE = "if (!wasZombie && (after & USERS_MASK) == 0) {";

  private static final int RUN_S = 90;

  @TempDir
  Path directory;

  @Test
  void noBufferComesBackWhileAReadMayWriteToIt() throws Exception {
    assertThat(statusOfPoisonedBuffers(classPath())).isZero();
  }

  @Test
  void aRuleOfReuseThatIsBrokenIsFound() throws Exception {
    String broken = compileWithBrokenRule() + File.pathSeparator + classPath();
    assertThat(statusOfPoisonedBuffers(broken)).isEqualTo(1);
    assertThat(directory.resolve("log")).content().contains("buffers were written to after");
  }

  private int statusOfPoisonedBuffers(String classPath) throws Exception {
    ProcessBuilder builder = new ProcessBuilder(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        classPath,
        PoisonedBuffers.class.getName());
    builder.environment().put("SOFTVERBS_PATH", "wire");
    builder.environment().put("SOFTVERBS_FAULT", "frame:op=READ_DATA,delay=20,every=2");
    Process process = builder
        .redirectErrorStream(true)
        .redirectOutput(directory.resolve("log").toFile())
        .start();
    try {
      assertThat(process.waitFor(RUN_S, TimeUnit.SECONDS)).as("ends").isTrue();
      return process.exitValue();
    } finally {
      process.destroyForcibly();
    }
  }

  private Path compileWithBrokenRule() throws Exception {
    String source = Files.readString(REGISTERED_BUFFER);
    assertThat(source).as("the rule in " + REGISTERED_BUFFER).containsOnlyOnce(RULE);
    Path broken = directory.resolve(REGISTERED_BUFFER.getFileName());
    Files.writeString(broken, source.replace(RULE, BROKEN_RULE));
    Path classes = Files.createDirectory(directory.resolve("classes"));
    int status = ToolProvider.getSystemJavaCompiler()
        .run(null, null, null, "-cp", classPath(), "-d", classes.toString(), broken.toString());
    assertThat(status).as("status of the compiler").isZero();
    return classes;
  }

  private static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }
}
