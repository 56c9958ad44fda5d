/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FoldersTest {
  @TempDir
  Path directory;

  @Test
  void aFolderIsMadeOnce() throws IOException {
    Path folder = directory.resolve("a").resolve("b");
    Folders.make(folder, "service.grants");
    Folders.make(folder, "service.grants");
    assertThat(folder).isDirectory();
  }

  @Test
  void whatCannotBeMadeIsNamedWithItsSetting() throws IOException {
    Path folder = Files.createFile(directory.resolve("file")).resolve("grants");
    assertThatThrownBy(() -> Folders.make(folder, "service.grants"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(folder + " (service.grants) cannot be made: ")
        .hasMessageContaining("set service.grants to another");
  }
}
