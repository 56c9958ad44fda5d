/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.shufflerdma.verbs.Loopback.CAPABILITIES;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a queue pair is given when it gets ready, and that the device holds its peer to it. */
@Timeout(60)
final class QueuePairLimitsTest {
  private static final int EVERYTHING =
      Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC;

  private static QueuePairLimits access(int access) {
    return new QueuePairLimits(access, Mtu.LARGEST_BYTES, 16, 16);
  }

  /** Status of a request of the initiator, to a region that allows everything. */
  private static int statusOf(OtherRequest request, int responderAccess) throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connectForAll(access(0), access(responderAccess));
      NativeMemory from = loopback.own(NativeMemory.allocate(4096, false));
      NativeMemory to = loopback.own(NativeMemory.allocate(4096, false));
      MemoryRegion target = loopback.own(WideRegion.register(pair.responder().domain, to));
      MemoryRegion own =
          loopback.own(pair.initiator().domain.register(from.address(), 4096, Access.LOCAL_WRITE));
      from.slice(0, OtherRequest.BYTES).putLong(4711);
      to.slice(0, OtherRequest.BYTES).putLong(4712);
      int status = request.statusOn(pair.initiator().pair, pair.initiator().queue, own, target);
      boolean unchanged = to.slice(0, OtherRequest.BYTES).getLong() == 4712;
      assertThat(unchanged)
          .as("%s ended with %s", request, WcStatus.text(status))
          .isEqualTo(status != WcStatus.SUCCESS || request == OtherRequest.READ);
      return status;
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPeerMayDoWhatItIsAllowed(OtherRequest request) throws Exception {
    assertThat(statusOf(request, EVERYTHING)).isEqualTo(WcStatus.SUCCESS);
  }

  @Test
  void aPeerThatMayReadMayRead() throws Exception {
    assertThat(statusOf(OtherRequest.READ, Access.REMOTE_READ)).isEqualTo(WcStatus.SUCCESS);
  }

  @ParameterizedTest
  @EnumSource(names = {"WRITE", "FETCH_AND_ADD"})
  void aPeerThatMayReadMayDoNothingElse(OtherRequest request) throws Exception {
    assertThat(statusOf(request, Access.REMOTE_READ))
        .isIn(WcStatus.REM_ACCESS_ERR, WcStatus.REM_INV_REQ_ERR);
  }

  @ParameterizedTest
  @EnumSource
  void aPeerThatMayNothingIsRefusedEverything(OtherRequest request) throws Exception {
    assertThat(statusOf(request, Access.NONE))
        .isIn(WcStatus.REM_ACCESS_ERR, WcStatus.REM_INV_REQ_ERR);
  }

  @ParameterizedTest
  @ValueSource(ints = {256, 1024, 4096})
  void theMtuIsThePathsButNoLargerThanTheLimit(int mtuBytes) throws Exception {
    QueuePairLimits limits = new QueuePairLimits(Access.REMOTE_READ, mtuBytes, 4, 4);
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connect(CAPABILITIES, limits, limits);
      int path = loopback.verbs.device(TestDevice.name()).ports().get(0).activeMtuBytes();
      assertThat(pair.initiator().pair.attributes().pathMtuBytes())
          .isEqualTo(Math.min(path, mtuBytes))
          .isEqualTo(pair.responder().pair.attributes().pathMtuBytes());
    }
  }

  /** Powers of two, to which rxe rounds up. */
  @ParameterizedTest
  @CsvSource({"16,16,16", "2,16,2", "16,4,4", "1,1,1"})
  void readsInProgressAreAsManyAsBothEndsHave(int wanted, int served, int granted)
      throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connect(
          CAPABILITIES,
          new QueuePairLimits(Access.NONE, Mtu.LARGEST_BYTES, wanted, 0),
          new QueuePairLimits(Access.REMOTE_READ, Mtu.LARGEST_BYTES, 0, served));
      assertThat(pair.initiator().pair.attributes().maxRdAtomic()).isEqualTo(granted);
      assertThat(pair.initiator().pair.attributes().maxDestRdAtomic()).isZero();
      assertThat(pair.responder().pair.attributes().maxDestRdAtomic()).isEqualTo(granted);
      assertThat(pair.responder().pair.attributes().maxRdAtomic()).isZero();
    }
  }

  @Test
  void anMtuThatIsNoneIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new QueuePairLimits(0, 1500, 1, 1).toArray())
        .withMessageContaining("1500");
  }
}
