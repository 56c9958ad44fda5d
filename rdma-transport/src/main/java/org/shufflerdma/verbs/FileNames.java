/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/** The bytes of file names. */
final class FileNames {
  /** The charset with which this JVM converts them to characters and back. */
  private static final Charset CHARSET =
      Charset.forName(System.getProperty("sun.jnu.encoding", StandardCharsets.UTF_8.name()));

  private FileNames() {}

  static byte[] bytesOf(String path) {
    return path.getBytes(CHARSET);
  }
}
