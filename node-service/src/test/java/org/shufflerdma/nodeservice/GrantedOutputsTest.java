/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registration;
import org.shufflerdma.staging.CommittedOutputs;

/** Counts what is looked up on disk. An output that is found costs two look-ups, of its index and of its data. */
class GrantedOutputsTest {
  private static final int EXECUTORS = 1_000;
  private static final int SHUFFLE_ID = 7;

  @TempDir
  Path directory;

  private final List<OutputFolders> executors = new ArrayList<>();
  private Grant grant;
  private GrantedOutputs outputs;
  private int lookUps;

  @BeforeEach
  void register() {
    for (int i = 0; i < EXECUTORS; i++) {
      executors.add(new OutputFolders(List.of(directory.resolve("executor-" + i)), 1));
    }
    grant = Grant.of(new Registration("app-1", new byte[32], new byte[0], executors.get(0)), 7);
    executors.forEach(folders -> grant = grant.with(folders));
    outputs = new GrantedOutputs(() -> grant, this::look);
  }

  private FileChannel look(Path folder, String subfolder, String name, int uid) throws IOException {
    lookUps++;
    return FileChannel.open(folder.resolve(name));
  }

  private void commit(int executor, long mapId) throws IOException {
    for (String suffix : List.of(".index", ".data")) {
      Path folder = executors.get(executor).localDirs().get(0);
      Files.createDirectories(folder);
      Files.createFile(folder.resolve("shuffle_" + SHUFFLE_ID + "_" + mapId + "_0" + suffix));
    }
  }

  private int lookUpsToOpen(long mapId) throws IOException {
    int before = lookUps;
    CommittedOutputs.Files files = outputs.open(SHUFFLE_ID, mapId);
    files.index().close();
    files.data().close();
    return lookUps - before;
  }

  @Test
  void anOutputIsSearchedForOnce() throws IOException {
    commit(0, 10); // the one that registered first is looked at last
    commit(999, 11);
    assertThat(lookUpsToOpen(10)).isEqualTo(EXECUTORS + 1);
    assertThat(lookUpsToOpen(11)).isLessThanOrEqualTo(3);
    assertThat(lookUpsToOpen(10)).isEqualTo(2);
  }

  @Test
  void furtherOutputsOfAnExecutorAreFoundAtOnce() throws IOException {
    for (int mapId = 0; mapId < 100; mapId++) {
      commit(0, mapId);
    }
    assertThat(lookUpsToOpen(0)).isEqualTo(EXECUTORS + 1);
    for (int mapId = 1; mapId < 100; mapId++) {
      assertThat(lookUpsToOpen(mapId)).isEqualTo(2);
    }
  }

  @Test
  void outputsOfAFewExecutorsInTurnAreFoundAmongThese() throws IOException {
    for (int mapId = 0; mapId < 40; mapId++) {
      commit(mapId % 4, mapId);
    }
    for (int mapId = 0; mapId < 4; mapId++) {
      lookUpsToOpen(mapId);
    }
    for (int mapId = 4; mapId < 40; mapId++) {
      assertThat(lookUpsToOpen(mapId)).isLessThanOrEqualTo(3 + 2);
    }
  }

  @Test
  void anOutputThatHasMovedOrGoneIsNotTakenForFound() throws IOException {
    commit(0, 10);
    lookUpsToOpen(10);
    Files.move(executors.get(0).localDirs().get(0), executors.get(1).localDirs().get(0));
    assertThat(lookUpsToOpen(10)).isGreaterThan(2);
    grant = grant.without(List.of(executors.get(1)));
    assertThatThrownBy(() -> outputs.open(SHUFFLE_ID, 10)).isInstanceOf(NoSuchFileException.class);
  }
}
