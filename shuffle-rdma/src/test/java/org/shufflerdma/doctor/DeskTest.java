/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.Serializable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DeskTest {
  private static final long SILENCE_NS = TimeUnit.SECONDS.toNanos(16);

  private final Desk desk = new Desk();
  private long nowNs;

  private Wire.Answer turn(String executorId, Wire.@Nullable Done done) {
    return desk.receive(new Wire.Turn(executorId, "host" + executorId, done, 0, 0), nowNs);
  }

  @Test
  void commandIsRepeatedUntilItIsDone() {
    assertThat(turn("1", null).command()).isInstanceOf(Command.Wait.class);
    CompletableFuture<Serializable> result = desk.order("1", new Command.Count());
    assertThat(turn("1", null).command()).isInstanceOf(Command.Count.class);
    assertThat(turn("1", new Wire.Done(7, "of another command")).command())
        .isInstanceOf(Command.Count.class);
    assertThat(turn("1", new Wire.Done(1, "done")).command()).isInstanceOf(Command.Wait.class);
    assertThat(result).isCompletedWithValue("done");
  }

  @Test
  void silentExecutorFailsWhatItWasToDo() {
    turn("1", null);
    CompletableFuture<Serializable> result = desk.order("1", new Command.Count());
    nowNs += SILENCE_NS;
    turn("2", null);
    desk.sweep(nowNs);
    assertThat(result).isCompletedExceptionally();
    assertThat(desk.seen())
        .extracting(Desk.Seen::lost)
        .containsExactly("has not been heard of for 15 s", null);
    assertThat(desk.order("1", new Command.Count())).isCompletedExceptionally();
  }

  @Test
  void lostExecutorKeepsItsFirstReason() {
    turn("1", null);
    desk.lost("1", "was killed");
    nowNs += SILENCE_NS;
    desk.sweep(nowNs);
    assertThat(desk.seen().get(0).lost()).isEqualTo("was killed");
  }

  @Test
  void allThatAreLeftHearOfTheEnd() {
    turn("1", null);
    turn("2", null);
    desk.lost("2", "was killed");
    desk.end();
    assertThat(desk.hasEnded()).isFalse();
    assertThat(turn("1", null).command()).isInstanceOf(Command.End.class);
    assertThat(desk.hasEnded()).isTrue();
  }

  @Test
  void messagesTravelAsBytes() throws Exception {
    byte[] answer = desk.receive(Wire.bytes(new Wire.Turn("1", "a", null, 1.5, 2)));
    assertThat(Wire.message(answer)).isInstanceOf(Wire.Answer.class);
    assertThatThrownBy(() -> desk.receive(Wire.bytes("hello")))
        .hasMessage("an executor sent what is no turn");
  }
}
