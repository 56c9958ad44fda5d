/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
    second.add("orphan", 2);
    second.add("spark_failure", 1);
    assertThat(second.summary())
        .isEqualTo(
            "faults: 7 injected faults, 2 orphaned reads, 0 terasorts (0 killed in reduce), 0 cancels,"
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

  @ParameterizedTest
  @ValueSource(
      strings = {
        "notes of mine\n",
        "seed=1\nfaults=12\n",
        "seed=1\nsources=abc\nsettings=\nfaults=many\n",
        "seed=1\nsources=abc\nsettings=\nfaults=-1\n",
        "path=C:\\users\n"
      })
  void aFileThatIsNoAccountIsRefusedAndLeftAlone(String content) throws IOException {
    refusedAndLeftAlone(content.getBytes(UTF_8));
  }

  @Test
  void aFileThatIsNoTextIsRefusedAndLeftAlone() throws IOException {
    refusedAndLeftAlone(new byte[] {(byte) 0xff, 0, (byte) 0xfe});
  }

  private void refusedAndLeftAlone(byte[] content) throws IOException {
    Path file = Files.write(directory.resolve("state"), content);
    assertThatThrownBy(() -> open(1, "abc"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("--resume " + file
            + " is no account of bin/faults: give the file of an earlier run, or a new name");
    assertThat(file).hasBinaryContent(content);
  }

  @Test
  void anEmptyFileBeginsAnAccount() throws IOException {
    Files.createFile(directory.resolve("state"));
    assertThat(open(1, "abc").isClean()).isTrue();
  }
}
