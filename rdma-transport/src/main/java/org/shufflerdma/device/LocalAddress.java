/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.shufflerdma.config.AddressChoice;

/**
 * An address of this host that peers on others may connect to.
 *
 * @param ip without a scope: the number of an interface means nothing elsewhere
 */
public record LocalAddress(InetAddress ip, String interfaceName) {
  @Override
  public String toString() {
    return ip.getHostAddress() + " (" + interfaceName + ")";
  }

  /**
   * The first of {@code candidates} that the setting accepts.
   *
   * @param key of the setting
   * @param candidates best first
   */
  static InetAddress choose(String key, AddressChoice choice, List<LocalAddress> candidates)
      throws IOException {
    InetAddress chosen = candidates.stream()
        .filter(candidate -> choice.accepts(candidate.ip, candidate.interfaceName))
        .findFirst()
        .orElseThrow(() -> new IOException(key
            + "="
            + choice
            + " matches none of the local addresses "
            + candidates.stream()
                .map(LocalAddress::toString)
                .collect(Collectors.joining(", ", "{", "}"))
            + "; correct it or remove it"))
        .ip;
    if (chosen.isLinkLocalAddress()) {
      throw new IOException("the executor's own address "
          + chosen.getHostAddress()
          + " is link-local and means nothing on other hosts; set "
          + key);
    }
    return chosen;
  }

  /**
   * All addresses of interfaces that are up, but for link-local ones: {@code preferred} first, even
   * if no interface has it, then those of its family.
   */
  static List<LocalAddress> ofThisHost(InetAddress preferred) throws IOException {
    List<LocalAddress> addresses = new ArrayList<>();
    for (NetworkInterface netInterface :
        Collections.list(NetworkInterface.getNetworkInterfaces())) {
      if (isUp(netInterface)) {
        for (InetAddress ip : Collections.list(netInterface.getInetAddresses())) {
          if (!ip.isLinkLocalAddress()) {
            addresses.add(new LocalAddress(withoutScope(ip), netInterface.getName()));
          }
        }
      }
    }
    if (addresses.stream().noneMatch(address -> address.ip.equals(preferred))) {
      addresses.add(new LocalAddress(preferred, "no interface"));
    }
    addresses.sort(Comparator.comparing((LocalAddress address) -> !address.ip.equals(preferred))
        .thenComparing(address -> address.ip.getClass() != preferred.getClass()));
    return addresses;
  }

  /** One that has gone since it was listed, as those of containers do, is not. */
  private static boolean isUp(NetworkInterface netInterface) {
    try {
      return netInterface.isUp();
    } catch (SocketException e) {
      return false;
    }
  }

  /**
   * The address that this host's name leads to. If that is a loopback address, as Debian sets up, or the
   * name leads nowhere, it is the first other address, if there is one.
   */
  public static InetAddress own() throws IOException {
    InetAddress named;
    try {
      named = InetAddress.getLocalHost();
    } catch (UnknownHostException e) {
      named = InetAddress.getLoopbackAddress();
    }
    return named.isLoopbackAddress()
        ? ofThisHost(named).stream()
            .map(LocalAddress::ip)
            .filter(ip -> !ip.isLoopbackAddress())
            .findFirst()
            .orElse(named)
        : named;
  }

  private static InetAddress withoutScope(InetAddress ip) throws UnknownHostException {
    return InetAddress.getByAddress(ip.getAddress());
  }
}
