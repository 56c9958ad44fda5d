/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.control.Hello;
import org.shufflerdma.control.MutualProof;
import org.shufflerdma.control.ProtocolException;

/**
 * How a reader learns where the node service of a host accepts the RDMA connections of its application, at
 * the fixed port of the service. Big-endian; each message is the body of a frame.
 *
 * <pre>
 * hello, from the reader:  as {@link Hello} says; the name is | application id, zeros (128) |
 * answer and proof:        as {@link MutualProof} says; the context is the application's id
 * endpoint, from the service, with a seal: | port (4) | nonce (16) | address, zeros (64) |
 * </pre>
 *
 * The service ends the connection if it does not know the application.
 */
public final class LookupMessages {
  public static final int MAX_APP_ID_BYTES = 128;
  public static final Hello.Form HELLO = new Hello.Form(0x53524e53, 2, MAX_APP_ID_BYTES); // "SRNS"
  public static final int ENDPOINT_BYTES = 20 + LookupMessages.MAX_ADDRESS_BYTES;

  private static final int MAX_ADDRESS_BYTES = 64;
  private static final String KEY_PURPOSE = "lookup-v2";

  private LookupMessages() {}

  /** The proof that both ends know what node services know of the application. */
  public static MutualProof proofFor(LocalIdentity identity) {
    return new MutualProof(identity.keyFor(PeerId.NODE_SERVICE, KEY_PURPOSE));
  }

  public static byte[] contextOf(String appId) {
    return appId.getBytes(StandardCharsets.UTF_8);
  }

  /** What a hello says of the application. */
  public static byte[] nameOf(String appId) {
    return put(ByteBuffer.allocate(MAX_APP_ID_BYTES), appId, MAX_APP_ID_BYTES).array();
  }

  public static String appIdOf(byte[] name) {
    return take(ByteBuffer.wrap(name), MAX_APP_ID_BYTES);
  }

  public static ByteBuffer encode(RdmaEndpoint endpoint) {
    ByteBuffer out = ByteBuffer.allocate(ENDPOINT_BYTES).putInt(endpoint.port());
    endpoint.bootNonce().write(out);
    return put(out, endpoint.host(), MAX_ADDRESS_BYTES);
  }

  public static RdmaEndpoint decodeEndpoint(ByteBuffer in) throws ProtocolException {
    if (in.remaining() != ENDPOINT_BYTES) {
      throw new ProtocolException("an endpoint of " + in.remaining() + " bytes");
    }
    int port = in.getInt();
    Nonce nonce = Nonce.read(in);
    try {
      return new RdmaEndpoint(take(in, MAX_ADDRESS_BYTES), port, nonce);
    } catch (IllegalArgumentException e) {
      throw new ProtocolException(String.valueOf(e.getMessage()));
    }
  }

  private static ByteBuffer put(ByteBuffer out, String text, int maxBytes) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length > maxBytes) {
      throw new IllegalArgumentException(text + ": more than " + maxBytes + " bytes");
    }
    return out.put(bytes).position(out.capacity()).flip();
  }

  /** The last field of a message, without the zeros that fill it. */
  private static String take(ByteBuffer in, int bytes) {
    byte[] field = new byte[bytes];
    in.get(field);
    int length = bytes;
    while (length > 0 && field[length - 1] == 0) {
      length--;
    }
    return new String(Arrays.copyOf(field, length), StandardCharsets.UTF_8);
  }
}
