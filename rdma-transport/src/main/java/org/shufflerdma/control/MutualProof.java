/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import org.shufflerdma.crypto.HmacSha256;

/**
 * Proves to both ends of a control connection that the other one knows a key:
 *
 * <pre>
 * challenge, from the client: 16 random bytes, in a message of the protocol
 * answer:                     | server's challenge (16) | server's MAC (32) |
 * proof, from the client:     | client's MAC (32) |
 * </pre>
 *
 * The MACs are HMAC-SHA256 under the key. They cover the role, both challenges, and a context that the
 * protocol chooses, such as who the server is. The same key yields the key of the connection's frames, from
 * both challenges. Immutable; any thread may call.
 */
public final class MutualProof {
  public static final int CHALLENGE_BYTES = 16;
  public static final int PROOF_BYTES = 32;
  public static final int ANSWER_BYTES = CHALLENGE_BYTES + PROOF_BYTES;

  private static final byte[] HELLO_ROLE = {'H'};
  private static final byte[] CLIENT_ROLE = {'C'};
  private static final byte[] SERVER_ROLE = {'S'};
  private static final byte[] FRAMES = {'F'};

  private final HmacSha256 hmac;
  private final SecureRandom random = new SecureRandom();

  public MutualProof(byte[] key) {
    this.hmac = new HmacSha256(key);
  }

  /** What both ends of one connection have drawn, and the context. */
  @SuppressWarnings("ArrayRecordComponent")
  public record Exchange(byte[] ofClient, byte[] ofServer, byte[] context) {}

  /** Draws a challenge. */
  public byte[] challenge() {
    byte[] challenge = new byte[CHALLENGE_BYTES];
    random.nextBytes(challenge);
    return challenge;
  }

  /** What proves already with a challenge that the client knows the key, where the protocol asks for it. */
  public byte[] hello(byte[] challenge, byte[] context) {
    return mac(HELLO_ROLE, new Exchange(challenge, new byte[0], context));
  }

  /** Throws if that is not the one of a client that knows the key. */
  public void readHello(byte[] hello, byte[] challenge, byte[] context) throws ProtocolException {
    requireMac(ByteBuffer.wrap(hello), HELLO_ROLE, new Exchange(challenge, new byte[0], context));
  }

  public ByteBuffer answer(Exchange exchange) {
    return ByteBuffer.allocate(ANSWER_BYTES)
        .put(exchange.ofServer())
        .put(mac(SERVER_ROLE, exchange))
        .flip();
  }

  /** What client and server have drawn, if the answer proves that the server knows the key. */
  public Exchange readAnswer(ByteBuffer answer, byte[] challenge, byte[] context)
      throws ProtocolException {
    if (answer.remaining() != ANSWER_BYTES) {
      throw new ProtocolException("the server's answer has " + answer.remaining() + " bytes");
    }
    byte[] ofServer = new byte[CHALLENGE_BYTES];
    answer.get(ofServer);
    Exchange exchange = new Exchange(challenge, ofServer, context);
    requireMac(answer, SERVER_ROLE, exchange);
    return exchange;
  }

  public ByteBuffer proof(Exchange exchange) {
    return ByteBuffer.wrap(mac(CLIENT_ROLE, exchange));
  }

  /** Throws if the client's message does not prove that it knows the key. */
  public void readProof(ByteBuffer proof, Exchange exchange) throws ProtocolException {
    requireMac(proof, CLIENT_ROLE, exchange);
  }

  /** The key of the frames of this connection. */
  public byte[] frameKey(Exchange exchange) {
    return mac(FRAMES, exchange);
  }

  private void requireMac(ByteBuffer in, byte[] role, Exchange exchange) throws ProtocolException {
    byte[] mac = new byte[in.remaining()];
    in.get(mac);
    if (!MessageDigest.isEqual(mac(role, exchange), mac)) {
      throw new ProtocolException("the other end does not know the application's secret");
    }
  }

  private byte[] mac(byte[] role, Exchange exchange) {
    byte[] mac = hmac.of(role, exchange.ofClient(), exchange.ofServer(), exchange.context());
    return Arrays.copyOf(mac, PROOF_BYTES);
  }
}
