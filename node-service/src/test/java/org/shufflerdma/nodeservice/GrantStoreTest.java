/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registration;

class GrantStoreTest {
  @TempDir
  Path directory;

  private GrantStore store;

  @BeforeEach
  void open() throws Exception {
    store = GrantStore.open(directory.resolve("grants"));
  }

  private static OutputFolders folders(int executor) {
    return new OutputFolders(List.of(Path.of("/local/" + executor), Path.of("/other")), 64);
  }

  private static Registration registration(int executor) {
    return new Registration("app-1", new byte[32], new byte[0], folders(executor));
  }

  private List<OutputFolders> loaded() throws IOException {
    List<Grant> grants = new ArrayList<>();
    GrantStore.open(directory.resolve("grants")).load(grants::add);
    return grants.stream().flatMap(grant -> grant.executors().stream()).toList();
  }

  /** The grant after so many executors have been added one after the other. */
  private Grant addAll(int executors) throws IOException {
    Grant grant = Grant.of(registration(0), 7);
    store.add(grant);
    for (int i = 1; i < executors; i++) {
      grant = grant.with(folders(i)).newest(40, Long.MAX_VALUE);
      store.add(grant);
    }
    return grant;
  }

  private Path file() {
    return directory.resolve("grants").resolve("app-1.grant");
  }

  @Test
  void executorsAreKnownAgainAndTheNewestComesFirst() throws Exception {
    assertThat(addAll(20).executors()).hasSize(20).first().isEqualTo(folders(19));
    assertThat(loaded()).hasSize(20).startsWith(folders(19)).endsWith(folders(0));
  }

  @Test
  void anExecutorAddsItsOwnRowAndWritesNoOther() throws Exception {
    Grant grant = addAll(20);
    byte[] before = Files.readAllBytes(file());
    store.add(grant.with(folders(20)));
    byte[] after = Files.readAllBytes(file());
    assertThat(after).startsWith(before);
    assertThat(after.length - before.length).isLessThan(before.length / 5);
  }

  @Test
  void executorsThatWerePushedOutLeaveNoRowsBehindForGood() throws Exception {
    addAll(1_000);
    long full = Files.size(file());
    addAll(40);
    assertThat(full).isLessThan(3 * Files.size(file()));
  }

  @Test
  void theOldestGiveWayToANewExecutor() {
    Grant grant = Grant.of(registration(0), 7);
    for (int i = 1; i < 10; i++) {
      grant = grant.with(folders(i)).newest(4, Long.MAX_VALUE);
    }
    assertThat(grant.executors()).containsExactly(folders(9), folders(8), folders(7), folders(6));
    long bytesOfTwo = Grant.of(registration(0), 7).bytes() * 2;
    assertThat(grant.newest(4, bytesOfTwo).executors()).containsExactly(folders(9), folders(8));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"localDir.0=/loc", "subDirs=64", "subDirs=64\nexecutor.5.localDir.0=", "subDirs="})
  void aRowThatIsCutDoesNotHideTheOthers(String beginning) throws Exception {
    addAll(5);
    Files.writeString(file(), "\nexecutor.5." + beginning, StandardOpenOption.APPEND);
    assertThat(loaded()).hasSize(5);
  }

  @Test
  void aFileThatWouldFillTheMemoryIsLeftAlone() throws Exception {
    addAll(2);
    Files.write(directory.resolve("grants").resolve("app-2.grant"), new byte[9 << 20]);
    assertThat(loaded()).hasSize(2);
  }
}
