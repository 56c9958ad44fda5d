/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;

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
  public static final Pattern APP_ID =
      Pattern.compile("[A-Za-z0-9_-]{1," + LookupMessages.MAX_APP_ID_BYTES + "}");

  private static final String VERSION = "1";
  private static final int KEY_BYTES = 32;
  private static final int MIN_DEVICE_SECRET_BYTES = 16;
  private static final int MAX_DEVICE_SECRET_BYTES = 256;

  public Registration {
    if (!APP_ID.matcher(appId).matches()) {
      throw new IllegalArgumentException("application id " + appId);
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
    properties.setProperty("application", appId);
    properties.setProperty("key", HexFormat.of().formatHex(key));
    properties.setProperty("deviceSecret", HexFormat.of().formatHex(deviceSecret));
    properties.setProperty("subDirs", String.valueOf(folders.subDirs()));
    for (int i = 0; i < folders.localDirs().size(); i++) {
      properties.setProperty("localDir." + i, folders.localDirs().get(i).toString());
    }
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
    List<Path> localDirs = new ArrayList<>();
    String dir;
    while ((dir = properties.getProperty("localDir." + localDirs.size())) != null) {
      localDirs.add(Path.of(dir));
    }
    return new Registration(
        text(properties, "application"),
        HexFormat.of().parseHex(text(properties, "key")),
        HexFormat.of().parseHex(text(properties, "deviceSecret")),
        new OutputFolders(localDirs, Integer.parseInt(text(properties, "subDirs"))));
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
