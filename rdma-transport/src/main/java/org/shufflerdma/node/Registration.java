/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Properties;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What an executor tells the node service of its host. It is a file of properties as a frame on a unix
 * socket; the answer is a frame with the reason for which the service refuses it, which is empty if it does
 * not. Immutable.
 *
 * @param key secret of the application's connections to node services (32 bytes)
 * @param deviceSecret what the application's processes prove to one another on the software device; empty on
 *     hardware
 */
@SuppressWarnings("ArrayRecordComponent")
public record Registration(String appId, byte[] key, byte[] deviceSecret, OutputFolders folders) {
  public static final int MAX_BYTES = 64 << 10;
  public static final int MAX_ANSWER_BYTES = 4 << 10;

  /** Also of the file in which the service keeps what it knows of an application. */
  private static final Pattern APP_ID =
      Pattern.compile("[A-Za-z0-9_-]{1," + LookupMessages.MAX_APP_ID_BYTES + "}");

  private static final String VERSION = "1";
  private static final int KEY_BYTES = 32;
  private static final int MIN_DEVICE_SECRET_BYTES = 16;
  private static final int MAX_DEVICE_SECRET_BYTES = 256;

  public Registration {
    if (!APP_ID.matcher(appId).matches()) {
      throw new IllegalArgumentException(
          "application id " + appId + ": it must match " + APP_ID.pattern());
    }
    if (key.length != KEY_BYTES) {
      throw new IllegalArgumentException("a key of " + key.length + " bytes");
    }
    if (deviceSecret.length != 0
        && (deviceSecret.length < MIN_DEVICE_SECRET_BYTES
            || deviceSecret.length > MAX_DEVICE_SECRET_BYTES)) {
      throw new IllegalArgumentException("a secret of " + deviceSecret.length + " bytes");
    }
    key = key.clone();
    deviceSecret = deviceSecret.clone();
  }

  @Override
  public byte[] key() {
    return key.clone();
  }

  @Override
  public byte[] deviceSecret() {
    return deviceSecret.clone();
  }

  public ByteBuffer encode() {
    Properties properties = new Properties();
    properties.setProperty("version", VERSION);
    putNamesTo(properties);
    folders.putTo(properties, "");
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      properties.store(out, null);
    } catch (IOException e) {
      throw new IllegalStateException("memory could not be written", e);
    }
    return ByteBuffer.wrap(out.toByteArray());
  }

  /** Throws IllegalArgumentException if the bytes are no registration. */
  public static Registration decode(byte[] bytes) {
    Properties properties = new Properties();
    try {
      properties.load(new ByteArrayInputStream(bytes));
    } catch (IOException e) {
      throw new IllegalStateException("memory could not be read", e);
    }
    String version = properties.getProperty("version");
    if (!VERSION.equals(version)) {
      throw new IllegalArgumentException("version " + version + " instead of " + VERSION);
    }
    return from(properties, OutputFolders.from(properties, ""));
  }

  /** Puts the application's id and secrets. */
  public void putNamesTo(Properties properties) {
    properties.setProperty("application", appId);
    properties.setProperty("key", HexFormat.of().formatHex(key));
    properties.setProperty("deviceSecret", HexFormat.of().formatHex(deviceSecret));
  }

  /** Reads what {@link #putNamesTo} has put. Throws IllegalArgumentException if anything is missing or wrong. */
  public static Registration from(Properties properties, @Nullable OutputFolders folders) {
    if (folders == null) {
      throw new IllegalArgumentException("no folders");
    }
    return new Registration(
        text(properties, "application"),
        HexFormat.of().parseHex(text(properties, "key")),
        HexFormat.of().parseHex(text(properties, "deviceSecret")),
        folders);
  }

  private static String text(Properties properties, String name) {
    String value = properties.getProperty(name);
    if (value == null) {
      throw new IllegalArgumentException("no " + name);
    }
    return value;
  }

  /** Names the application alone. */
  @Override
  public String toString() {
    return appId + " in " + folders.localDirs();
  }
}
