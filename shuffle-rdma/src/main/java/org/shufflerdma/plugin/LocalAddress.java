/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Chooses the local address that peers connect to, by {@code spark.shuffle.rdma.address}: an IP
 * address, a network in CIDR form, or nothing.
 */
final class LocalAddress {
  private static final String KEY = "spark.shuffle.rdma.address";

  private LocalAddress() {}

  /**
   * The first of {@code candidates} that the setting accepts.
   *
   * @param setting address, CIDR or empty
   * @param candidates local addresses, best first
   */
  static InetAddress choose(String setting, List<InetAddress> candidates) throws IOException {
    Predicate<InetAddress> accepted = setting.isEmpty() ? address -> true : matcherOf(setting);
    return candidates.stream()
        .filter(accepted)
        .findFirst()
        .orElseThrow(() -> new IOException(KEY
            + "="
            + setting
            + " matches none of the local addresses "
            + candidates.stream()
                .map(InetAddress::getHostAddress)
                .collect(Collectors.joining(", ", "{", "}"))
            + "; correct it or remove it"));
  }

  /** All addresses of interfaces that are up, after {@code preferred}. */
  static List<InetAddress> ofThisHost(InetAddress preferred) throws IOException {
    List<InetAddress> addresses = new ArrayList<>();
    addresses.add(preferred);
    for (NetworkInterface netInterface :
        Collections.list(NetworkInterface.getNetworkInterfaces())) {
      if (netInterface.isUp()) {
        for (InetAddress address : Collections.list(netInterface.getInetAddresses())) {
          if (!addresses.contains(address)) {
            addresses.add(address);
          }
        }
      }
    }
    return addresses;
  }

  private static Predicate<InetAddress> matcherOf(String setting) throws IOException {
    int slash = setting.indexOf('/');
    byte[] network =
        InetAddress.getByName(slash < 0 ? setting : setting.substring(0, slash)).getAddress();
    int bits =
        slash < 0 ? network.length * Byte.SIZE : Integer.parseInt(setting.substring(slash + 1));
    if (bits > network.length * Byte.SIZE) {
      throw new IOException(
          KEY + "=" + setting + " has a prefix longer than the address; correct it");
    }
    return address -> hasPrefix(address.getAddress(), network, bits);
  }

  private static boolean hasPrefix(byte[] address, byte[] network, int bits) {
    if (address.length != network.length) {
      return false;
    }
    for (int bit = 0; bit < bits; bit++) {
      int mask = 0x80 >> (bit & 7);
      if (((address[bit >> 3] ^ network[bit >> 3]) & mask) != 0) {
        return false;
      }
    }
    return true;
  }
}
