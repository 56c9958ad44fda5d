/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Masks in a text what tells who has sent it: the host's name and addresses, the user's home
 * directory, and whatever has the form of a hardware address, a GUID, a GID or an IPv6 address.
 * Numbers with dots stay unless they are an address of this host, since versions of firmware and
 * libraries have them. Immutable.
 */
final class Redaction {
  /** Groups of hexadecimal digits: at least four, which a time of day or a PCI slot has not. */
  private static final Pattern GROUPS =
      Pattern.compile("(?<![\\w:])(?:[0-9a-fA-F]{1,4}:){3,}[0-9a-fA-F]{1,4}(?![\\w:])"
          + "|(?<![\\w:])(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4})*)?::"
          + "(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4})*)?(?![\\w:])");

  /** Names that udev and rdma-core make of a MAC or GUID: systemd.net-naming-scheme(7), rdma_rename. */
  private static final Pattern IN_NAMES =
      Pattern.compile("(?<=\\b(?:en|ib|roce|iw|opa)x)[0-9a-f]{12,16}\\b");

  private static final String MASKED_GROUPS = "[address]";

  private final Map<Pattern, String> known = new LinkedHashMap<>();

  /**
   * @param names of this host, its addresses and the home directory, with what comes in their place
   */
  Redaction(Map<String, String> names) {
    names.forEach((name, mask) -> {
      if (name.length() > 2) {
        known.put(
            Pattern.compile("(?<![\\w.])" + Pattern.quote(name) + "(?!\\w|\\.\\w)"),
            Matcher.quoteReplacement(mask));
      }
    });
  }

  /** Collects the names of this host. */
  static Redaction ofThisHost() throws SocketException {
    Map<String, String> names = new LinkedHashMap<>();
    names.put(System.getProperty("user.home"), "[home]");
    NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter(address -> !address.isLoopbackAddress())
        .forEach(address -> names.put(plain(address), MASKED_GROUPS));
    String name = Proc.text(Path.of("/proc/sys/kernel/hostname"));
    if (!name.equals("localhost")) {
      names.put(name, "[host]");
      int dot = name.indexOf('.');
      names.put(dot < 0 ? name : name.substring(0, dot), "[host]");
    }
    return new Redaction(names);
  }

  private static String plain(InetAddress address) {
    String text = address.getHostAddress();
    int scope = text.indexOf('%');
    return scope < 0 ? text : text.substring(0, scope);
  }

  String of(String text) {
    String masked = text;
    for (Map.Entry<Pattern, String> entry : known.entrySet()) {
      masked = entry.getKey().matcher(masked).replaceAll(entry.getValue());
    }
    masked = IN_NAMES.matcher(masked).replaceAll(MASKED_GROUPS);
    return GROUPS.matcher(masked).replaceAll(MASKED_GROUPS);
  }
}
