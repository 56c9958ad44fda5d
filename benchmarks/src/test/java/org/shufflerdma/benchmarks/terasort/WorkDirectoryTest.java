/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WorkDirectoryTest {
  @TempDir
  Path folder;

  private WorkDirectory directory;

  @BeforeEach
  void open() throws IOException {
    directory = WorkDirectory.open(folder.toUri().toString(), new Configuration());
  }

  @Test
  void outputOfAnotherJobIsKept() throws IOException {
    Path part = write("part-r-00000");
    assertThatThrownBy(() -> directory.clear("output"))
        .hasMessageContaining("was not made by a sort: move it, or give another --dir");
    assertThat(part).exists();
  }

  @Test
  void outputOfAnEarlierSortIsDeleted() throws IOException {
    directory.clear("output");
    Path part = write("part-r-00000");
    directory.clear("output");
    assertThat(part.getParent()).doesNotExist();
  }

  @Test
  void fileThatNoSortWritesIsKept() throws IOException {
    directory.clear("output");
    Path file = write("thesis.tex");
    assertThatThrownBy(() -> directory.clear("output")).hasMessageContaining("thesis.tex");
    assertThat(file).exists();
  }

  private Path write(String name) throws IOException {
    return Files.writeString(
        Files.createDirectories(folder.resolve("output")).resolve(name), "text");
  }
}
