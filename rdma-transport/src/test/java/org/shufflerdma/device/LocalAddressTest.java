/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.config.AddressChoice;

class LocalAddressTest {
  private static final String KEY = "app.rdma.address";

  private static List<LocalAddress> candidates() throws Exception {
    return List.of(
        new LocalAddress(InetAddress.getByName("10.0.0.7"), "eth0"),
        new LocalAddress(InetAddress.getByName("192.168.7.12"), "eth1"),
        new LocalAddress(InetAddress.getByName("192.168.8.1"), "eth1.100"),
        new LocalAddress(InetAddress.getByName("fd00:1::7"), "ib0"));
  }

  @ParameterizedTest
  @CsvSource({
    "'',10.0.0.7",
    "192.168.8.1,192.168.8.1",
    "192.168.7.0/24,192.168.7.12",
    "192.168.0.0/16,192.168.7.12",
    "192.168.8.0/23,192.168.8.1",
    "0.0.0.0/0,10.0.0.7",
    "fd00::/8,fd00:1::7",
    "::/0,fd00:1::7",
    "FD00:1::7,fd00:1::7",
    "eth1,192.168.7.12",
    "eth1.100,192.168.8.1",
    "ib0,fd00:1::7"
  })
  void settingPicksTheFirstThatMatches(String setting, String expected) throws Exception {
    assertThat(LocalAddress.choose(KEY, AddressChoice.of(setting), candidates()))
        .isEqualTo(InetAddress.getByName(expected));
  }

  @ParameterizedTest
  @ValueSource(strings = {"172.16.0.0/12", "eth7", "fd00:2::/32"})
  void noMatchIsExplained(String setting) throws Exception {
    List<LocalAddress> candidates = candidates();
    assertThatThrownBy(() -> LocalAddress.choose(KEY, AddressChoice.of(setting), candidates))
        .hasMessageContainingAll(
            KEY + "=" + setting + " matches none",
            "10.0.0.7 (eth0)",
            "fd00:1:0:0:0:0:0:7 (ib0)",
            "correct it");
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "::1"})
  void thisHostsAddressesBeginWithThePreferredOneAndItsFamily(String text) throws Exception {
    InetAddress preferred = InetAddress.getByName(text);
    List<InetAddress> addresses =
        LocalAddress.ofThisHost(preferred).stream().map(LocalAddress::ip).toList();
    assertThat(addresses).startsWith(preferred);
    assertThat(addresses)
        .extracting(address -> address.getClass() == preferred.getClass() ? 0 : 1)
        .isSorted();
  }

  @Test
  void anExecutorWhoseOwnAddressIsLinkLocalIsToldWhatToSet() throws Exception {
    List<LocalAddress> addresses = LocalAddress.ofThisHost(InetAddress.getByName("fe80::7"));
    assertThatThrownBy(() -> LocalAddress.choose(KEY, AddressChoice.of(""), addresses))
        .hasMessageContainingAll("fe80:0:0:0:0:0:0:7", "link-local", "set " + KEY);
  }

  @Test
  void thisHostsAddressesHaveNoScopeAndTheirInterfaceHasThem() throws Exception {
    for (LocalAddress address : LocalAddress.ofThisHost(InetAddress.getLoopbackAddress())) {
      assertThat(address.ip().getHostAddress()).doesNotContain("%");
      assertThat(address.ip().isLinkLocalAddress()).isFalse();
      assertThat(address.ip() instanceof Inet6Address v6 ? v6.getScopeId() : 0).isZero();
      assertThat(NetworkInterface.getByName(address.interfaceName()).inetAddresses())
          .contains(address.ip());
    }
  }
}
