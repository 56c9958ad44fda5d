/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.control.MutualProof;
import org.shufflerdma.control.ProtocolException;

/**
 * How a reader learns where the node service of a host accepts the RDMA connections of its application, at
 * the fixed port of the service. Big-endian; each message is the body of a frame.
 *
 * <pre>
 * hello, from the reader:  | magic (4) | version (2) | 0 (2) | challenge (16) | HMAC (32) | application id, zeros (128) |
 * answer and proof:        as {@link MutualProof} says; the context is the application's id
 * endpoint, from the service, with a seal: | port (4) | nonce (16) | address, zeros (64) |
 * </pre>
 *
 * The HMAC of the hello covers the challenge and the application's id, so that who does not know the secret gets
 * no HMAC of the service to try secrets against. The service ends the connection if the HMAC is wrong, or if it
 * does not know the application.
 */
public final class LookupMessages {
  public static final int MAX_APP_ID_BYTES = 128;
  public static final int HELLO_BYTES =
      8 + MutualProof.CHALLENGE_BYTES + MutualProof.PROOF_BYTES + MAX_APP_ID_BYTES;
  public static final int ENDPOINT_BYTES = 20 + LookupMessages.MAX_ADDRESS_BYTES;

  private static final int MAGIC = 0x53524e53; // "SRNS"
  private static final short VERSION = 1;
  private static final int MAX_ADDRESS_BYTES = 64;
  private static final String KEY_PURPOSE = "lookup-v1";

  private LookupMessages() {}

  /** The content of a hello. */
  @SuppressWarnings("ArrayRecordComponent")
  public record Hello(byte[] challenge, byte[] mac, String appId) {}

  /** The proof that both ends know what node services know of the application. */
  public static MutualProof proofFor(LocalIdentity identity) {
    return new MutualProof(identity.keyFor(PeerId.NODE_SERVICE, KEY_PURPOSE));
  }

  public static byte[] contextOf(String appId) {
    return appId.getBytes(StandardCharsets.UTF_8);
  }

  public static Hello hello(byte[] challenge, String appId, MutualProof proof) {
    return new Hello(challenge, proof.hello(challenge, contextOf(appId)), appId);
  }

  /** Throws if the reader does not know the secret. */
  public static void check(Hello hello, MutualProof proof) throws ProtocolException {
    proof.readHello(hello.mac(), hello.challenge(), contextOf(hello.appId()));
  }

  public static ByteBuffer encode(Hello hello) {
    ByteBuffer out = ByteBuffer.allocate(HELLO_BYTES)
        .putInt(MAGIC)
        .putShort(VERSION)
        .putShort((short) 0)
        .put(hello.challenge())
        .put(hello.mac());
    return put(out, hello.appId(), MAX_APP_ID_BYTES);
  }

  public static Hello decodeHello(ByteBuffer in) throws ProtocolException {
    if (in.remaining() != HELLO_BYTES || in.getInt() != MAGIC) {
      throw new ProtocolException("the first message is no hello");
    }
    short version = in.getShort();
    if (version != VERSION) {
      throw new ProtocolException("version " + version + " instead of " + VERSION);
    }
    in.getShort();
    byte[] challenge = new byte[MutualProof.CHALLENGE_BYTES];
    in.get(challenge);
    byte[] mac = new byte[MutualProof.PROOF_BYTES];
    in.get(mac);
    return new Hello(challenge, mac, take(in, MAX_APP_ID_BYTES));
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
