/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.control.Hello;
import org.shufflerdma.control.MutualProof;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.node.LookupMessages;

/**
 * What a reducer and the node service of its host say to one another, at the port of the service. Big-endian; each
 * message is the body of a frame. The hello's name is {@code user/application}, filled up with zeros, and the context of the proof is
 * the same with a single zero and the id of the kernel's boot behind it. Each text has its length in bytes before it (2).
 *
 * <pre>
 * fetch, from the reducer:   | 1 (1) | id (4) | reduce (4) | host | outputs (2) | name of each |
 * release, from the reducer: | 2 (1) | id (4) | output (2) |
 * output, from the service:  | 1 (1) | id (4) | output (2) | offset (8) | bytes (8) | raw bytes (8) | file |
 * refusal, from the service: | 2 (1) | id (4) | output (2) | reason |
 * </pre>
 *
 * Each output of a fetch is answered once, in any order. The bytes of one that is there stay in the file until it is released,
 * or the connection ends.
 */
final class ReducerMessages {
  static final Hello.Form HELLO =
      new Hello.Form(0x53524d52, 2, LookupMessages.MAX_APP_ID_BYTES); // "SRMR"

  static final int MAX_OUTPUTS = 256;
  static final int MAX_BYTES = 32 << 10;
  static final byte FETCH = 1;
  static final byte RELEASE = 2;

  private static final byte OUTPUT = 1;
  private static final byte REFUSAL = 2;
  private static final String KEY_PURPOSE = "reducer-v1";
  private static final int HEAD_BYTES = 7;

  /** Of random(4). */
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

  private ReducerMessages() {}

  static MutualProof proofFor(LocalIdentity identity) {
    return new MutualProof(identity.keyFor(PeerId.NODE_SERVICE, KEY_PURPOSE));
  }

  /** That of this host's kernel. */
  static String bootId() throws IOException {
    return Files.readString(BOOT_ID).trim();
  }

  /** With the boot, so that nobody can send a reducer on to the service of another host, and put his own file where that names one. */
  static byte[] contextOf(String job, String bootId) {
    return (job + "\0" + bootId).getBytes(StandardCharsets.UTF_8);
  }

  /** A reducer wants this partition of map outputs of a host. */
  record Fetch(int id, int reduce, String host, List<String> outputs) {
    /** Reads what follows the first byte. */
    static Fetch decode(ByteBuffer in) throws ProtocolException {
      try {
        int id = in.getInt();
        int reduce = in.getInt();
        String host = takeText(in);
        int count = Short.toUnsignedInt(in.getShort());
        if (reduce < 0 || count == 0 || count > MAX_OUTPUTS) {
          throw new ProtocolException(
              "a request for partition %d of %d outputs".formatted(reduce, count));
        }
        List<String> outputs = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
          outputs.add(takeText(in));
        }
        requireEnd(in);
        return new Fetch(id, reduce, host, outputs);
      } catch (BufferUnderflowException e) {
        throw new ProtocolException("a request that ends early");
      }
    }
  }

  /** A reducer does not need the bytes of an output any more. */
  record Release(int id, int output) {
    /** Reads what follows the first byte. */
    static Release decode(ByteBuffer in) throws ProtocolException {
      try {
        Release release = new Release(in.getInt(), Short.toUnsignedInt(in.getShort()));
        requireEnd(in);
        return release;
      } catch (BufferUnderflowException e) {
        throw new ProtocolException("a release that ends early");
      }
    }
  }

  /**
   * An output is there.
   *
   * @param lengthBytes in the file, from {@code offset} on
   * @param rawBytes without compression
   */
  static ByteBuffer output(
      int id, int output, String file, long offset, long lengthBytes, long rawBytes) {
    byte[] name = file.getBytes(StandardCharsets.UTF_8);
    return head(OUTPUT, id, output, 3 * Long.BYTES + Short.BYTES + name.length)
        .putLong(offset)
        .putLong(lengthBytes)
        .putLong(rawBytes)
        .putShort((short) name.length)
        .put(name)
        .flip();
  }

  /** An output must be fetched by HTTP. */
  static ByteBuffer refusal(int id, int output, String reason) {
    byte[] text = reason.getBytes(StandardCharsets.UTF_8);
    return head(REFUSAL, id, output, Short.BYTES + text.length)
        .putShort((short) text.length)
        .put(text)
        .flip();
  }

  private static ByteBuffer head(byte type, int id, int output, int moreBytes) {
    return ByteBuffer.allocate(HEAD_BYTES + moreBytes).put(type).putInt(id).putShort((short)
        output);
  }

  private static String takeText(ByteBuffer in) {
    byte[] text = new byte[Short.toUnsignedInt(in.getShort())];
    in.get(text);
    return new String(text, StandardCharsets.UTF_8);
  }

  private static void requireEnd(ByteBuffer in) throws ProtocolException {
    if (in.hasRemaining()) {
      throw new ProtocolException("a message with " + in.remaining() + " bytes too many");
    }
  }
}
