/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.verbs.MemlockLimit;

class LockedMemoryTest {
  private static final long GIB = 1L << 30;

  private final Report report = new Report();

  private static LockedMemory of(long softBytes, boolean exempt) {
    return new LockedMemory(
        new MemlockLimit(softBytes, softBytes, exempt),
        RdmaSettings.from(Map.of("spark.shuffle.rdma.maxRegisteredBytes", "8g"), Options.PREFIX));
  }

  @Test
  void limitThatFitsThisRunOnlyIsNotProven() throws Exception {
    LockedMemory memory = of(4 * GIB, false);
    memory.refuseTooLittle(GIB);
    memory.judge(report, true);
    assertThat(report.proven()).isFalse();
    assertThat(report.text())
        .contains("NOT PROVEN: 4096 MiB may be locked, and an executor locks up to 8192 MiB")
        .contains("spark.shuffle.rdma.maxRegisteredBytes=auto ");
  }

  @Test
  void limitThatFitsAnExecutorIsProven() {
    of(8 * GIB, false).judge(report, true);
    assertThat(report.proven()).isTrue();
  }

  @Test
  void limitThatDoesNotBindIsProven() {
    of(GIB, true).judge(report, true);
    of(GIB, false).judge(report, false);
    assertThat(report.proven()).isTrue();
  }

  @Test
  void limitBelowThisRunIsRefused() {
    assertThatThrownBy(() -> of(8 << 20, false).refuseTooLittle(GIB))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("is 8192 KiB, and this run needs 3211264 KiB");
  }
}
