/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.verbs.TestDevice;

class RegisteredArenaTest {
  private RdmaTransport transport;
  private RegisteredArena arena;
  private long regionsBefore;

  @BeforeEach
  void open() throws IOException {
    transport = TestTransports.open("arena");
    regionsBefore = TestDevice.live().regions();
    arena = TestTransports.arena(transport);
  }

  @AfterEach
  void everythingIsGivenBack() throws IOException {
    arena.close();
    assertThat(TestDevice.live().regions()).isEqualTo(regionsBefore);
    transport.close();
  }

  @Test
  void recordsShareARegistrationAndAreAligned() throws Exception {
    ArenaSlice first = arena.allocate(100);
    ArenaSlice second = arena.allocate(336);
    assertThat(second.rkey()).isEqualTo(first.rkey());
    assertThat(second.address()).isEqualTo(first.address() + 128);
    assertThat(first.address() % 64).isZero();
    assertThat(arena.registeredBytes()).isEqualTo(1 << 20);
  }

  @Test
  void aFreedRecordIsZeroedAndItsBytesAreUsedAgain() throws Exception {
    ArenaSlice first = arena.allocate(64);
    first.buffer().putLong(0, -1);
    long address = first.address();
    first.close();
    first.close();
    ArenaSlice second = arena.allocate(64);
    assertThat(second.address()).isEqualTo(address);
    assertThat(second.buffer().getLong(0)).isZero();
    assertThatThrownBy(first::buffer).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aLargeRecordHasItsOwnRegistrationUntilItIsFreed() throws Exception {
    ArenaSlice small = arena.allocate(64);
    ArenaSlice large = arena.allocate(3 << 20);
    assertThat(arena.registeredBytes()).isEqualTo((1 << 20) + (3 << 20));
    large.close();
    assertThat(arena.registeredBytes()).isEqualTo(1 << 20);
    small.close();
  }

  @Test
  void aClosedArenaGivesNothing() {
    arena.close();
    assertThatThrownBy(() -> arena.allocate(64)).isInstanceOf(IOException.class);
  }
}
