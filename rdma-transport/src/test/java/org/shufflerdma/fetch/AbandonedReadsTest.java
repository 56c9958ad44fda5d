/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.verbs.OnSoftDevice;

/** A quarter of the pool has room for nine buffers. The bytes of the cancelled fetches come after 20 s. */
@Timeout(120)
@OnSoftDevice("its READs can be made late")
class AbandonedReadsTest {
  @TempDir
  Path directory;

  @Test
  void connectionWhoseAbandonedReadsHoldTooManyBuffersIsGivenUp() throws Exception {
    assertThat(cancel(14)).endsWith("ABANDONED, none");
  }

  @Test
  void fewAbandonedReadsMayComeWhenTheyCome() throws Exception {
    assertThat(cancel(4)).endsWith("open, leased");
  }

  private String cancel(int blocks) throws Exception {
    ProcessBuilder builder = new ProcessBuilder(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
        AbandonedReads.class.getName(),
        directory.toString(),
        String.valueOf(blocks));
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
