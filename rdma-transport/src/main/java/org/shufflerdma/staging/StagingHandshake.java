/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.control.MutualProof;
import org.shufflerdma.control.ProtocolException;

/**
 * The beginning of a control connection for staging: a hello, and then the mutual proof that both ends
 * belong to one application ({@link MutualProof}), whose context is the nonce and the executor id of the
 * server. Big-endian; each message is the body of a frame without a seal.
 *
 * <pre>
 * hello, from the client:  | magic (4) | version (2) | 0 (2) | client's challenge (16) | server's nonce (16) |
 * </pre>
 */
final class StagingHandshake {
  static final int HELLO_BYTES = 40;

  private static final int MAGIC = 0x53525354; // "SRST"
  private static final short VERSION = 1;
  private static final String KEY_PURPOSE = "staging-v1";

  private StagingHandshake() {}

  /** The proof of connections to this server. */
  static MutualProof proofFor(LocalIdentity identity, String serverId) {
    return new MutualProof(identity.keyFor(serverId, KEY_PURPOSE));
  }

  static byte[] context(Nonce serverNonce, String serverId) {
    byte[] id = serverId.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(Nonce.SIZE_BYTES + id.length)
        .putLong(serverNonce.high())
        .putLong(serverNonce.low())
        .put(id)
        .array();
  }

  static byte[] contextOf(PeerId server) {
    return context(server.endpoint().bootNonce(), server.executorId());
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
    byte[] challenge = new byte[MutualProof.CHALLENGE_BYTES];
    hello.get(challenge);
    if (!new Nonce(hello.getLong(), hello.getLong()).equals(ownNonce)) {
      throw new ProtocolException("the client looks for another run of this executor");
    }
    return challenge;
  }
}
