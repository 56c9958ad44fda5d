/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The user's choice of the local address that peers connect to: that of an interface, for example
 * {@code ib0} or {@code eth1.100}, one in a network, for example 192.168.7.0/24, or any.
 *
 * @param text the value of the setting; empty allows any address
 * @param network null if {@code text} is no network
 * @param prefixBits of the network; the prefix of a single address has all its bits
 */
public record AddressChoice(String text, @Nullable InetAddress network, int prefixBits) {
  private static final String OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])";
  private static final Pattern ADDRESS = Pattern.compile("(" + OCTET + "(?:\\." + OCTET
      + "){3}|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)(?:/([0-9]{1,3}))?");
  private static final Pattern LIKE_IPV4 = Pattern.compile("[0-9.]+");

  /** IFNAMSIZ of the kernel leaves 15 characters. */
  private static final Pattern INTERFACE = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,14}");

  /** Parses the setting; throws {@link IllegalArgumentException} with the reason if it cannot. */
  public static AddressChoice of(String text) {
    Matcher address = ADDRESS.matcher(text);
    if (address.matches()) {
      return inNetwork(text, address);
    }
    if (text.isEmpty()
        || (INTERFACE.matcher(text).matches() && !LIKE_IPV4.matcher(text).matches())) {
      return new AddressChoice(text, null, 0);
    }
    throw new IllegalArgumentException("neither an interface nor an address");
  }

  private static AddressChoice inNetwork(String text, Matcher address) {
    InetAddress network;
    try {
      network = InetAddress.getByName(address.group(1)); // of a address.group(1) it asks nobody
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException("not an address", e);
    }
    int most = network.getAddress().length * Byte.SIZE;
    int bits = address.group(2) == null ? most : Integer.parseInt(address.group(2));
    if (bits > most) {
      throw new IllegalArgumentException("the prefix is longer than the address");
    }
    if (network.isLinkLocalAddress()) {
      throw new IllegalArgumentException("link-local addresses mean nothing on other hosts");
    }
    return new AddressChoice(text, network, bits);
  }

  /**
   * Returns whether the choice allows the address {@code ip} of interface {@code interfaceName}.
   */
  public boolean accepts(InetAddress ip, String interfaceName) {
    return network == null
        ? text.isEmpty() || text.equals(interfaceName)
        : isInNetwork(ip.getAddress(), network.getAddress());
  }

  private boolean isInNetwork(byte[] address, byte[] wanted) {
    if (address.length != wanted.length) {
      return false;
    }
    for (int bit = 0; bit < prefixBits; bit++) {
      int mask = 0x80 >> (bit & 7);
      if (((address[bit >> 3] ^ wanted[bit >> 3]) & mask) != 0) {
        return false;
      }
    }
    return true;
  }

  @Override
  public String toString() {
    return text;
  }
}
