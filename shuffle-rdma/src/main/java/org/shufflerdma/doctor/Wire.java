/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/**
 * The messages between driver and executors. They travel as byte arrays, because Spark's RPC on an executor does not see classes that
 * came with {@code --jars}.
 */
final class Wire {
  static final String ENDPOINT = "shuffle-rdma-doctor";

  /** What an executor did. */
  record Done(int number, Serializable result) implements Serializable {}

  /**
   * An executor's question what to do.
   *
   * @param done what it has done since the last one; null if nothing
   * @param clockAheadMs of the driver's clock, by the question that was answered soonest
   * @param clockErrorMs half of the time that this question took
   */
  record Turn(
      String executorId, String host, @Nullable Done done, double clockAheadMs, double clockErrorMs)
      implements Serializable {}

  /**
   * The driver's answer.
   *
   * @param number of the command, from 1; the same until it is done
   * @param driverMs the driver's clock, in milliseconds since 1970
   */
  record Answer(Command command, int number, long driverMs) implements Serializable {}

  private Wire() {}

  static byte[] bytes(Serializable message) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(message);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  static Object message(byte[] bytes) throws IOException {
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes)) {
      @Override
      protected Class<?> resolveClass(ObjectStreamClass described)
          throws IOException, ClassNotFoundException {
        try {
          return Class.forName(described.getName(), false, Wire.class.getClassLoader());
        } catch (ClassNotFoundException e) {
          return super.resolveClass(described); // primitive types have no name there
        }
      }
    }) {
      return in.readObject();
    } catch (ClassNotFoundException e) {
      throw new IOException("a message of another version of the plugin: " + e.getMessage(), e);
    }
  }
}
