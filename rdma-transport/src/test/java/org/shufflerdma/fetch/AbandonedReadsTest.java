/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/** A quarter of the pool has room for nine buffers. The bytes of the cancelled fetches come after 20 s. */
@Timeout(120)
@OnSoftDevice("its READs can be made late")
class AbandonedReadsTest {
  @TempDir
  Path directory;

  @Test
  void connectionWhoseAbandonedReadsHoldTooManyBuffersIsGivenUp() throws Exception {
    assertThat(cancel(14)).isEqualTo("ABANDONED, none");
  }

  @Test
  void fewAbandonedReadsMayComeWhenTheyCome() throws Exception {
    assertThat(cancel(4)).isEqualTo("open, leased");
  }

  private String cancel(int blocks) throws Exception {
    Map<String, String> environment = Map.of(
        "SOFTVERBS_PATH", "wire",
        "SOFTVERBS_FAULT", "frame:op=READ_DATA,delay=20000,min_length=70000,count=all");
    try (Jvm jvm = Jvm.start(
        environment, AbandonedReads.class, directory.toString(), String.valueOf(blocks))) {
      return jvm.awaitLine("connection: ");
    }
  }
}
