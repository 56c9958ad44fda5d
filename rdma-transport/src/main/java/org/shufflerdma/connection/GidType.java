/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What an entry of a port's GID table is for, as the kernel says it (Documentation/ABI/stable/sysfs-class-infiniband). */
final class GidType {
  private static final Path DEVICES = Path.of("/sys/class/infiniband");

  private GidType() {}

  /** Returns a text such as " (RoCE v2)"; empty where the kernel says nothing, as of the software device. */
  static String of(String device, int port, int index) {
    Path type = DEVICES.resolve(device).resolve("ports/" + port + "/gid_attrs/types/" + index);
    try {
      return " (" + Files.readString(type).strip() + ")";
    } catch (IOException e) {
      return "";
    }
  }
}
