/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.shufflerdma.mapoutput.OutputLedger.Shuffle;
import org.shufflerdma.mapoutput.OutputLedger.Turn;

class OutputLedgerTest {
  private record Output(String name, long bytes) {}

  private final OutputLedger<Output> ledger = new OutputLedger<>(Output::bytes);

  /** The later a shuffle is named, the later it was used. */
  private Shuffle<Output> shuffle(int id, boolean inUse, long... readableBytes) {
    Shuffle<Output> shuffle = ledger.use(id);
    for (int i = 0; i < readableBytes.length; i++) {
      ledger.addReadable(shuffle, new Output(id + "." + i, readableBytes[i]));
    }
    if (!inUse) {
      ledger.endUse(shuffle);
    }
    return shuffle;
  }

  private void await(Shuffle<Output> shuffle, long... bytes) {
    for (int i = 0; i < bytes.length; i++) {
      ledger.addWaiting(shuffle, new Output(shuffle.id() + "w" + i, bytes[i]));
    }
  }

  private static List<String> names(List<Output> outputs) {
    return outputs.stream().map(Output::name).toList();
  }

  private String turn(long freeBytes) {
    Turn<Output> turn = ledger.nextTurn(freeBytes);
    return turn == null ? "none" : turn.output().name() + (turn.fits() ? " fits" : " needs room");
  }

  @Test
  void roomIsMadeByIdleShufflesLongestUnusedFirst() {
    shuffle(1, true, 4);
    shuffle(2, false, 2, 2);
    shuffle(3, false, 2);
    Shuffle<Output> wants = shuffle(4, true);
    assertThat(names(ledger.makeRoom(wants, 3, 0, 3))).isEmpty();
    assertThat(names(ledger.makeRoom(wants, 3, 0, 0))).containsExactly("2.0", "2.1");
    assertThat(names(ledger.makeRoom(wants, 4, 0, 0))).as("they are leaving").isEmpty();
    assertThat(names(ledger.makeRoom(wants, 4, 1, 0))).containsExactly("3.0");
  }

  @Test
  void noneIsWithdrawnWhereItWouldNotSuffice() {
    shuffle(1, true, 4);
    shuffle(2, false, 2);
    Shuffle<Output> wants = shuffle(3, true);
    assertThat(names(ledger.makeRoom(wants, 4, 0, 1))).isEmpty();
    assertThat(names(ledger.makeRoom(wants, 4, 0, 2))).containsExactly("2.0");
  }

  @Test
  void shufflesUsedLaterMakeNoRoom() {
    Shuffle<Output> wants = shuffle(1, true);
    shuffle(2, false, 4);
    assertThat(ledger.makeRoom(wants, 1, 0, 0)).isEmpty();
    ledger.touch(wants);
    assertThat(names(ledger.makeRoom(wants, 1, 0, 0))).containsExactly("2.0");
  }

  @Test
  void whatHasLeftDoesNotCountAsRoomTwice() {
    shuffle(1, false, 2, 2);
    Shuffle<Output> wants = shuffle(2, true);
    Output leaving = ledger.makeRoom(wants, 2, 0, 0).get(0);
    ledger.left(leaving);
    ledger.left(leaving);
    assertThat(names(ledger.makeRoom(wants, 2, 0, 0))).containsExactly("1.1");
  }

  @Test
  void theShuffleUsedLastIsServedFirstAndInOrder() {
    await(shuffle(1, true), 1);
    Shuffle<Output> last = shuffle(2, true);
    await(last, 2, 1);
    assertThat(turn(2)).isEqualTo("2w0 fits");
    ledger.registered(Objects.requireNonNull(ledger.nextTurn(2)), true);
    assertThat(turn(1)).isEqualTo("2w1 fits");
    ledger.registered(Objects.requireNonNull(ledger.nextTurn(1)), false);
    assertThat(turn(1)).isEqualTo("1w0 fits");
    assertThat(turn(0)).isEqualTo("none");
  }

  @Test
  void whatCannotHaveRoomIsPassedOver() {
    shuffle(1, true, 4);
    shuffle(2, false, 2);
    await(shuffle(3, true), 1);
    await(shuffle(4, true), 8, 3, 2);
    assertThat(turn(0)).isEqualTo("4w2 needs room");
    assertThat(turn(1)).isEqualTo("4w1 needs room");
    Turn<Output> turn = Objects.requireNonNull(ledger.nextTurn(0));
    assertThat(names(ledger.makeRoom(turn, 0))).containsExactly("2.0");
    assertThat(turn(0)).as("room is on its way").isEqualTo("4w2 needs room");
    ledger.remove(4);
    assertThat(turn(1)).isEqualTo("3w0 fits");
  }
}
