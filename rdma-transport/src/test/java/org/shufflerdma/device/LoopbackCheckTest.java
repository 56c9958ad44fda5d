/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.memory.RegisteredArena;

class LoopbackCheckTest {
  @TempDir
  Path directory;

  private RdmaTransport transport;
  private RegisteredArena arena;
  private BlockFetcher fetcher;

  @BeforeEach
  void open() throws Exception {
    transport = TestTransports.open("1");
    arena = TestTransports.arena(transport);
    fetcher = new BlockFetcher(transport, FetchSettings.of(1, 2_000));
  }

  @AfterEach
  void close() {
    fetcher.close();
    arena.close();
    transport.close();
  }

  private MapOutputRegistry registry(RegisteredArena within) {
    return new MapOutputRegistry(
        transport.protectionDomain(), within, TestTransports.seal(), 0, System::nanoTime);
  }

  @Test
  void deviceThatReadsFilesPassesAndKeepsNothing() throws Exception {
    try (MapOutputRegistry registry = registry(arena)) {
      LoopbackCheck.run(transport, registry, fetcher, "1", directory);
      assertThat(registry.registeredBytes()).isZero();
      TestTransports.awaitNoLeases(transport);
    }
  }

  @Test
  void deviceThatCannotRegisterFilesFails() {
    try (RegisteredArena full = TestTransports.arena(transport, 0);
        MapOutputRegistry registry = registry(full)) {
      assertThatThrownBy(() -> LoopbackCheck.run(transport, registry, fetcher, "1", directory))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("cannot be registered");
    }
  }

  @Test
  void deviceThatAnswersToAnotherNameFails() {
    try (MapOutputRegistry registry = registry(arena)) {
      assertThatThrownBy(() -> LoopbackCheck.run(transport, registry, fetcher, "2", directory))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("loopback READ failed");
    }
  }
}
