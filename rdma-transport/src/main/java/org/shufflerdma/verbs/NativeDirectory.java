/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.file.Path;

/**
 * The directory below which the native libraries are extracted.
 *
 * @param setting what the user can set to choose another, for messages
 */
public record NativeDirectory(Path path, String setting) {
  private static final Path TEMPORARY = Path.of(System.getProperty("java.io.tmpdir"));
  private static final String TEMPORARY_SETTING = "-Djava.io.tmpdir";

  /** The directory for temporary files, which processes without a setting use. */
  static final NativeDirectory DEFAULT = new NativeDirectory(TEMPORARY, TEMPORARY_SETTING);

  /** Returns the directory that the setting {@code key} has; {@code value} may be empty. */
  public static NativeDirectory ofSetting(String key, String value) {
    return new NativeDirectory(
        value.isEmpty() ? TEMPORARY : Path.of(value), key + " (or " + TEMPORARY_SETTING + ")");
  }
}
