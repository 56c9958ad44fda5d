/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LocalAddressTest {
  private static List<InetAddress> candidates() throws Exception {
    List<InetAddress> addresses = new ArrayList<>();
    for (String text : new String[] {"10.0.0.7", "192.168.7.12", "192.168.8.1", "fd00:1::7"}) {
      addresses.add(InetAddress.getByName(text));
    }
    return addresses;
  }

  @ParameterizedTest
  @CsvSource({
    "'',10.0.0.7",
    "192.168.8.1,192.168.8.1",
    "192.168.7.0/24,192.168.7.12",
    "192.168.0.0/16,192.168.7.12",
    "192.168.8.0/23,192.168.8.1",
    "0.0.0.0/0,10.0.0.7",
    "fd00::/8,fd00:1::7"
  })
  void settingPicksTheFirstThatMatches(String setting, String expected) throws Exception {
    assertThat(LocalAddress.choose(setting, candidates()))
        .isEqualTo(InetAddress.getByName(expected));
  }

  @Test
  void noMatchIsExplained() throws Exception {
    List<InetAddress> candidates = candidates();
    assertThatThrownBy(() -> LocalAddress.choose("172.16.0.0/12", candidates))
        .hasMessageContainingAll(
            "spark.shuffle.rdma.address=172.16.0.0/12", "10.0.0.7", "correct it");
    assertThatThrownBy(() -> LocalAddress.choose("10.0.0.0/33", candidates))
        .hasMessageContaining("prefix longer than the address");
  }

  @Test
  void thisHostsAddressesBeginWithThePreferredOne() throws Exception {
    InetAddress loopback = InetAddress.getLoopbackAddress();
    assertThat(LocalAddress.ofThisHost(loopback)).startsWith(loopback).doesNotHaveDuplicates();
  }
}
