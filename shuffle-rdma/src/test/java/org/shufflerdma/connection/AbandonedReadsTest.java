/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.verbs.OnSoftDevice;

/** A quarter of the pool has room for nine buffers. Their bytes come after 20 s. */
@Timeout(120)
@OnSoftDevice("its READs can be made late")
class AbandonedReadsTest {
  @Test
  void connectionWhoseAbandonedReadsHoldTooManyBuffersIsGivenUp() throws Exception {
    assertThat(run(14)).endsWith("ABANDONED, none");
  }

  @Test
  void fewAbandonedReadsMayComeWhenTheyCome() throws Exception {
    assertThat(run(4)).endsWith("open, zombies");
  }

  private static String run(int reads) throws Exception {
    ProcessBuilder builder = new ProcessBuilder(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
        AbandonedReads.class.getName(),
        String.valueOf(reads));
    builder.environment().put("SOFTVERBS_PATH", "wire");
    builder
        .environment()
        .put("SOFTVERBS_FAULT", "frame:op=READ_DATA,delay=20000,min_length=70000,count=all");
    Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try {
      return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    } finally {
      process.destroyForcibly();
    }
  }
}
