/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.config;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The user's choice of the local address that peers connect to: that of an interface, one in a
 * network, or any.
 */
public sealed interface AddressChoice {
  /**
   * Returns whether the choice allows the address {@code ip} of interface {@code interfaceName}.
   */
  boolean accepts(InetAddress ip, String interfaceName);

  /** The setting is empty: any address. */
  record Any() implements AddressChoice {
    @Override
    public boolean accepts(InetAddress ip, String interfaceName) {
      return true;
    }

    @Override
    public String toString() {
      return "";
    }
  }

  /** The address of an interface, for example {@code ib0} or {@code eth1.100}. */
  record OfInterface(String name) implements AddressChoice {
    @Override
    public boolean accepts(InetAddress ip, String interfaceName) {
      return name.equals(interfaceName);
    }

    @Override
    public String toString() {
      return name;
    }
  }

  /**
   * An address in a network, for example 192.168.7.0/24; the prefix of a single address has all its
   * bits.
   */
  record InNetwork(String text, InetAddress network, int prefixBits) implements AddressChoice {
    @Override
    public boolean accepts(InetAddress ip, String interfaceName) {
      byte[] address = ip.getAddress();
      byte[] wanted = network.getAddress();
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

  /** Parses the setting; throws {@link IllegalArgumentException} with the reason if it cannot. */
  static AddressChoice of(String text) {
    if (text.isEmpty()) {
      return new Any();
    }
    Matcher address = Form.ADDRESS.matcher(text);
    if (address.matches()) {
      return network(text, address.group(1), address.group(2));
    }
    if (Form.INTERFACE.matcher(text).matches() && !Form.LIKE_IPV4.matcher(text).matches()) {
      return new OfInterface(text);
    }
    throw new IllegalArgumentException("neither an interface nor an address");
  }

  private static InNetwork network(String text, String literal, String prefix) {
    InetAddress network;
    try {
      network = InetAddress.getByName(literal); // of a literal it asks nobody
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException("not an address", e);
    }
    int most = network.getAddress().length * Byte.SIZE;
    int bits = prefix == null ? most : Integer.parseInt(prefix);
    if (bits > most) {
      throw new IllegalArgumentException("the prefix is longer than the address");
    }
    if (network.isLinkLocalAddress()) {
      throw new IllegalArgumentException("link-local addresses mean nothing on other hosts");
    }
    return new InNetwork(text, network, bits);
  }

  /** The forms that the text may have. */
  final class Form {
    private static final String OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])";
    private static final Pattern ADDRESS = Pattern.compile("(" + OCTET + "(?:\\." + OCTET
        + "){3}|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)(?:/([0-9]{1,3}))?");
    private static final Pattern LIKE_IPV4 = Pattern.compile("[0-9.]+");

    /** IFNAMSIZ of the kernel leaves 15 characters. */
    private static final Pattern INTERFACE = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,14}");

    private Form() {}
  }
}
