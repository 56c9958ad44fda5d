/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.nio.ByteBuffer;

/**
 * The first message of a connection whose ends prove themselves, by which the client says whom it looks for
 * and proves that it knows the key ({@link MutualProof}). Big-endian; the body of a frame without a seal.
 *
 * <pre>
 * | magic (4) | version (2) | 0 (2) | client's challenge (16) | HMAC (32) | name |
 * </pre>
 *
 * @param name of whom the client looks for, as the protocol says
 */
@SuppressWarnings("ArrayRecordComponent")
public record Hello(byte[] challenge, byte[] mac, byte[] name) {
  /**
   * The form of the hellos of one protocol.
   *
   * @param nameBytes of each name
   */
  public record Form(int magic, int version, int nameBytes) {
    private static final int HEAD_BYTES = 8;

    public int sizeBytes() {
      return HEAD_BYTES + MutualProof.CHALLENGE_BYTES + MutualProof.PROOF_BYTES + nameBytes;
    }

    public ByteBuffer encode(Hello hello) {
      return ByteBuffer.allocate(sizeBytes())
          .putInt(magic)
          .putShort((short) version)
          .putShort((short) 0)
          .put(hello.challenge)
          .put(hello.mac)
          .put(hello.name)
          .flip();
    }

    /** Whether the message is a hello of this protocol, of whatever version. */
    boolean isFormOf(ByteBuffer in) {
      return in.remaining() >= Integer.BYTES && in.getInt(in.position()) == magic;
    }

    /** Throws if the message is none of this protocol's; of another version's by the version. */
    public Hello decode(ByteBuffer in) throws ProtocolException {
      if (in.remaining() < HEAD_BYTES || in.getInt() != magic) {
        throw new ProtocolException("the first message is no hello");
      }
      int sent = Short.toUnsignedInt(in.getShort());
      if (sent != version) {
        throw new ProtocolException("version " + sent + " instead of " + version);
      }
      in.getShort();
      if (in.remaining() != sizeBytes() - HEAD_BYTES) {
        throw new ProtocolException("a hello of " + (HEAD_BYTES + in.remaining()) + " bytes");
      }
      return new Hello(
          take(in, MutualProof.CHALLENGE_BYTES),
          take(in, MutualProof.PROOF_BYTES),
          take(in, nameBytes));
    }

    private static byte[] take(ByteBuffer in, int bytes) {
      byte[] taken = new byte[bytes];
      in.get(taken);
      return taken;
    }
  }
}
