/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TallyTest {
  @TempDir
  Path directory;

  private Tally open(long seed, String sources) throws IOException {
    return Tally.open(directory.resolve("state"), seed, sources, "");
  }

  @Test
  void slicesAddUp() throws IOException {
    Tally first = open(1, "abc");
    first.add("faults", 3);
    first.save();
    Tally second = open(1, "abc");
    second.add("faults", 4);
    second.add("spark_failure", 1);
    assertThat(second.summary())
        .isEqualTo("faults: 7 injected faults, 0 terasorts (0 killed in reduce), 0 cancels,"
            + " 0 shuffles: 0 wrong, 0 hung, 0 leaked, 1 ended in Spark's own failure");
    assertThat(second.isClean()).isTrue();
  }

  @Test
  void whatWentWrongOnceStaysWrong() throws IOException {
    Tally first = open(1, "abc");
    first.add("leaked", 1);
    first.save();
    assertThat(open(1, "abc").isClean()).isFalse();
  }

  @Test
  void anAccountOfOtherSourcesIsRefused() throws IOException {
    open(1, "abc").save();
    assertThatThrownBy(() -> open(1, "def"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("sources abc");
    assertThatThrownBy(() -> open(2, "abc")).hasMessageContaining("seed 1");
  }
}
