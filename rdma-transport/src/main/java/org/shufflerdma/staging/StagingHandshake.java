/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.crypto.HmacSha256;

/**
 * The mutual proof at the beginning of a control connection that both ends belong to one application.
 * Big-endian; each message is the body of a frame without a seal.
 *
 * <pre>
 * hello, from the client:  | magic (4) | version (2) | 0 (2) | client's challenge (16) | server's nonce (16) |
 * answer:                  | server's challenge (16) | server's MAC (32) |
 * proof, from the client:  | client's MAC (32) |
 * </pre>
 *
 * The MACs are HMAC-SHA256 under a key that is derived from the application's secret and id. They cover the
 * role, both challenges, and the nonce and the executor id of the server. The same key yields the key of the
 * connection's frames, from both challenges. Immutable; any thread may call.
 */
final class StagingHandshake {
  static final int HELLO_BYTES = 40;
  static final int ANSWER_BYTES = 48;
  static final int PROOF_BYTES = 32;

  private static final int MAGIC = 0x53525354; // "SRST"
  private static final short VERSION = 1;
  private static final int CHALLENGE_BYTES = 16;
  private static final String KEY_PURPOSE = "staging-v1";
  private static final byte[] CLIENT_ROLE = {'C'};
  private static final byte[] SERVER_ROLE = {'S'};
  private static final byte[] FRAMES = {'F'};

  private final HmacSha256 hmac;
  private final SecureRandom random = new SecureRandom();

  StagingHandshake(LocalIdentity identity) {
    this.hmac = new HmacSha256(identity.key(KEY_PURPOSE));
  }

  /** What both ends of one connection have drawn, and who the server is. */
  @SuppressWarnings("ArrayRecordComponent")
  record Exchange(byte[] ofClient, byte[] ofServer, Nonce serverNonce, String serverId) {}

  byte[] challenge() {
    byte[] challenge = new byte[CHALLENGE_BYTES];
    random.nextBytes(challenge);
    return challenge;
  }

  static ByteBuffer hello(byte[] challenge, Nonce serverNonce) {
    return ByteBuffer.allocate(HELLO_BYTES)
        .putInt(MAGIC)
        .putShort(VERSION)
        .putShort((short) 0)
        .put(challenge)
        .putLong(serverNonce.high())
        .putLong(serverNonce.low())
        .flip();
  }

  /** The challenge of a hello to this server; throws if it is none. */
  static byte[] readHello(ByteBuffer hello, Nonce ownNonce) throws ProtocolException {
    if (hello.remaining() != HELLO_BYTES || hello.getInt() != MAGIC) {
      throw new ProtocolException("the first message is no hello");
    }
    short version = hello.getShort();
    if (version != VERSION) {
      throw new ProtocolException("version " + version + " instead of " + VERSION);
    }
    hello.getShort();
    byte[] challenge = new byte[CHALLENGE_BYTES];
    hello.get(challenge);
    if (!new Nonce(hello.getLong(), hello.getLong()).equals(ownNonce)) {
      throw new ProtocolException("the client looks for another run of this executor");
    }
    return challenge;
  }

  ByteBuffer answer(Exchange exchange) {
    return ByteBuffer.allocate(ANSWER_BYTES)
        .put(exchange.ofServer())
        .put(mac(SERVER_ROLE, exchange))
        .flip();
  }

  /** What client and server have drawn, if the answer proves that the server knows the secret. */
  Exchange readAnswer(ByteBuffer answer, byte[] challenge, PeerId server) throws ProtocolException {
    if (answer.remaining() != ANSWER_BYTES) {
      throw new ProtocolException("the server's answer has " + answer.remaining() + " bytes");
    }
    byte[] ofServer = new byte[CHALLENGE_BYTES];
    answer.get(ofServer);
    Exchange exchange =
        new Exchange(challenge, ofServer, server.endpoint().bootNonce(), server.executorId());
    requireMac(answer, SERVER_ROLE, exchange);
    return exchange;
  }

  ByteBuffer proof(Exchange exchange) {
    return ByteBuffer.wrap(mac(CLIENT_ROLE, exchange));
  }

  void readProof(ByteBuffer proof, Exchange exchange) throws ProtocolException {
    requireMac(proof, CLIENT_ROLE, exchange);
  }

  /** The key of the frames of this connection. */
  byte[] frameKey(Exchange exchange) {
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
    byte[] nonce = ByteBuffer.allocate(Nonce.SIZE_BYTES)
        .putLong(exchange.serverNonce().high())
        .putLong(exchange.serverNonce().low())
        .array();
    byte[] mac = hmac.of(
        role,
        exchange.ofClient(),
        exchange.ofServer(),
        nonce,
        exchange.serverId().getBytes(StandardCharsets.UTF_8));
    return Arrays.copyOf(mac, PROOF_BYTES);
  }
}
