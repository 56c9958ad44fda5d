/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class DeviceTest {
  @Test
  void theDeviceIsListedWithItsPortAndGids() throws Exception {
    assertThat(TestDevice.open().devices()).singleElement().satisfies(device -> {
      assertThat(device.name()).isEqualTo(TestDevice.name());
      assertThat(device.guid()).isNotZero();
      assertThat(device.maxQpRdAtom()).isPositive();
      assertThat(device.maxQpWr()).isPositive();
      assertThat(device.maxSge()).isPositive();
      assertThat(device.maxCqe()).isPositive();
      assertThat(device.maxMr()).isPositive();
      assertThat(device.maxMrSize()).isGreaterThan(1L << 32);
      assertThat(device.ports()).singleElement().satisfies(port -> {
        assertThat(port.port()).isEqualTo(1);
        assertThat(port.state()).isEqualTo(PortState.ACTIVE);
        assertThat(port.linkLayer()).isEqualTo(LinkLayer.ETHERNET);
        assertThat(port.activeMtuBytes()).isBetween(256, 4096);
        assertThat(port.maxMsgBytes()).isGreaterThanOrEqualTo(1L << 23);
        assertThat(port.gids()).isNotEmpty().noneMatch(Gid::isZero);
      });
    });
  }

  @Test
  void aDeviceThatIsNotThereIsRefusedWithItsErrno() throws Exception {
    Verbs verbs = TestDevice.open();
    assertThat(verbs.device(TestDevice.name()).name()).isEqualTo(TestDevice.name());
    assertThatThrownBy(() -> verbs.device("mlx5_0"))
        .isInstanceOfSatisfying(
            VerbsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENODEV));
  }

  @Test
  void aSecondProviderIsRefusedAndTheSameOneIsShared() throws Exception {
    Verbs verbs = TestDevice.open();
    assertThat(Verbs.open(verbs.provider())).isSameAs(verbs);
    Provider other = TestDevice.isSoft() ? Provider.SYSTEM : Provider.SOFT;
    assertThatThrownBy(() -> Verbs.open(other))
        .isInstanceOf(VerbsException.class)
        .hasMessageContaining("already uses the " + verbs.provider() + " verbs");
  }

  @Test
  void aBoundIdKnowsItsDevice() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      loopback.resolve();
      assertThat(loopback.client.deviceName()).isEqualTo(TestDevice.name());
      DeviceContext context = loopback.client.context();
      assertThat(context).isNotNull();
      assertThat(context.query().name()).isEqualTo(TestDevice.name());
      assertThat(context.pollAsyncEvent(0)).isNull();
    }
  }

  @Test
  void gidsReadAsAddresses() throws Exception {
    byte[] mapped = new byte[16];
    mapped[10] = mapped[11] = (byte) 0xFF;
    mapped[12] = 127;
    mapped[15] = 1;
    Gid gid = Gid.of(1, mapped);
    assertThat(gid.toInetAddress()).isEqualTo(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
    assertThat(Gid.of(0, new byte[16]).isZero()).isTrue();
  }

  @Test
  void everyStatusHasAMeaningAndStrangeOnesAreNamed() {
    for (int status = WcStatus.SUCCESS; status <= WcStatus.GENERAL_ERR; status++) {
      assertThat(WcStatus.text(status)).startsWith("IBV_WC_" + WcStatus.name(status) + " (");
    }
    assertThat(WcStatus.text(-1)).isEqualTo("unknown work completion status -1");
    assertThat(WcStatus.text(22)).isEqualTo("unknown work completion status 22");
  }
}
