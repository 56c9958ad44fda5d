/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.crypto.HmacSha256;

/**
 * The mutual proof in rdma_cm's private data that both ends belong to one application. Big-endian.
 * The connection manager pads private data with zeros, so each message has a fixed length.
 *
 * <pre>
 * request, 56 bytes (all that rdma_cm leaves in a REQ):
 *    0        1       2       4               16                      24            56
 *   +--------+-------+-------+---------------+-----------------------+-------------+
 *   | version| flags | 0     | client nonce  | server nonce, first 8 | client's MAC|
 *   +--------+-------+-------+---------------+-----------------------+-------------+
 * reply, 68 bytes:
 *    0        1       2               4             20               28          32       36    68
 *   +--------+-------+---------------+-------------+----------------+-----------+--------+------+
 *   | version| flags | 0             | server nonce| canary address | canary key| port   | MAC  |
 *   +--------+-------+---------------+-------------+----------------+-----------+--------+------+
 * rejection, 20 bytes:
 *   | version| code  | 0 (2)         | server nonce|
 * </pre>
 *
 * Every version has a rejection of at least 20 bytes that begins with its own number, which is never 0, so that
 * either side learns that the versions differ.
 * The port is that of the server's TCP listener for control connections (see the package {@code staging}),
 * or 0 if it has none. Both MACs are HMAC-SHA256 under a key derived from the application's secret and id. They cover
 * the role, the server's executor id, and every byte of the message before the MAC; the reply's
 * covers the client's nonce too. Immutable; any thread may call.
 */
final class Handshake {
  static final int REQUEST_BYTES = 56;
  static final int REPLY_BYTES = 68;
  static final int REJECTION_BYTES = 20;

  private static final byte VERSION = 1;
  private static final int CLIENT_NONCE_AT = 4;
  private static final int SERVER_NONCE_AT = 16;
  static final int CLIENT_NONCE_BYTES = SERVER_NONCE_AT - CLIENT_NONCE_AT;
  private static final int MAC_BYTES = 32;
  private static final byte[] CLIENT_ROLE = {'C'};
  private static final byte[] SERVER_ROLE = {'S'};
  private static final String KEY_PURPOSE = "rdma-v1";

  /** Why a listener turns a peer away; the index in this list is the code on the wire. */
  static final List<PeerFailure> REJECTIONS = List.of(
      PeerFailure.REFUSED,
      PeerFailure.VERSION,
      PeerFailure.NONCE,
      PeerFailure.SECRET,
      PeerFailure.REPLAY,
      PeerFailure.TOO_MANY,
      PeerFailure.LISTENER_CLOSED);

  private final SecureRandom random = new SecureRandom();
  private final HmacSha256 hmac;
  private final HmacSha256 hmacOfNodeServices;

  Handshake(LocalIdentity identity) {
    this.hmac = new HmacSha256(identity.key(KEY_PURPOSE));
    this.hmacOfNodeServices = new HmacSha256(identity.keyFor(PeerId.NODE_SERVICE, KEY_PURPOSE));
  }

  /** The content of a verified reply. */
  record Reply(long canaryAddress, int canaryRkey, int stagingPort) {}

  /** The content of a rejection, whose sender has not proved itself. */
  record Rejection(PeerFailure reason, Nonce serverNonce) {}

  byte[] newClientNonce() {
    byte[] nonce = new byte[CLIENT_NONCE_BYTES];
    random.nextBytes(nonce);
    return nonce;
  }

  byte[] request(byte[] clientNonce, PeerId server) {
    byte[] request = new byte[REQUEST_BYTES];
    ByteBuffer out = ByteBuffer.wrap(request);
    out.put(VERSION).put((byte) 0).putShort((short) 0);
    out.put(clientNonce, 0, CLIENT_NONCE_BYTES);
    out.putLong(server.endpoint().bootNonce().high());
    seal(request, CLIENT_ROLE, server.executorId(), bytesOf(server.endpoint().bootNonce()));
    return request;
  }

  /** Null if the request is good, else why it is not. Takes the same time for every wrong MAC. */
  @Nullable
  PeerFailure checkRequest(byte[] request, String serverExecutorId, Nonce serverNonce) {
    if (request.length < REQUEST_BYTES || request[0] != VERSION) {
      return PeerFailure.VERSION;
    }
    ByteBuffer in = ByteBuffer.wrap(request);
    if (in.getLong(SERVER_NONCE_AT) != serverNonce.high()) {
      return PeerFailure.NONCE;
    }
    byte[] message = Arrays.copyOf(request, REQUEST_BYTES);
    boolean proved = isSealed(message, CLIENT_ROLE, serverExecutorId, bytesOf(serverNonce));
    return proved ? null : PeerFailure.SECRET;
  }

  static byte[] clientNonce(byte[] request) {
    return Arrays.copyOfRange(request, CLIENT_NONCE_AT, SERVER_NONCE_AT);
  }

  byte[] reply(byte[] request, String serverExecutorId, Nonce serverNonce, Reply content) {
    byte[] reply = new byte[REPLY_BYTES];
    ByteBuffer out = ByteBuffer.wrap(reply);
    out.put(VERSION).put((byte) 0).putShort((short) 0);
    serverNonce.write(out);
    out.putLong(content.canaryAddress()).putInt(content.canaryRkey()).putInt(content.stagingPort());
    seal(reply, SERVER_ROLE, serverExecutorId, clientNonce(request));
    return reply;
  }

  /** Throws with NONCE if another run answers, with SECRET if the proof is wrong. */
  Reply checkReply(byte[] reply, byte[] clientNonce, PeerId server) throws NoConnectionException {
    if (reply.length < REPLY_BYTES || reply[0] != VERSION) {
      throw new NoConnectionException(server, PeerFailure.VERSION, "its reply has another version");
    }
    ByteBuffer in = ByteBuffer.wrap(reply);
    in.position(4);
    Nonce nonce = Nonce.read(in);
    if (!nonce.equals(server.endpoint().bootNonce())) {
      throw new NoConnectionException(server, PeerFailure.NONCE, "answered by nonce=" + nonce);
    }
    byte[] message = Arrays.copyOf(reply, REPLY_BYTES);
    if (!isSealed(message, SERVER_ROLE, server.executorId(), clientNonce)) {
      throw new NoConnectionException(
          server, PeerFailure.SECRET, "it does not know the application's secret");
    }
    return new Reply(in.getLong(), in.getInt(), in.getInt());
  }

  static byte[] rejection(PeerFailure reason, Nonce serverNonce) {
    byte[] rejection = new byte[REJECTION_BYTES];
    ByteBuffer out = ByteBuffer.wrap(rejection);
    out.put(VERSION).put((byte) REJECTIONS.indexOf(reason)).putShort((short) 0);
    serverNonce.write(out);
    return rejection;
  }

  /** Whether a peer's listener has sent it, and not the kernel for it. */
  static boolean isRejection(byte[] privateData) {
    return privateData.length >= REJECTION_BYTES && privateData[0] != 0;
  }

  static Rejection readRejection(byte[] rejection) {
    if (!isRejection(rejection)) {
      return new Rejection(PeerFailure.REFUSED, new Nonce(0, 0));
    }
    if (rejection[0] != VERSION) {
      return new Rejection(PeerFailure.VERSION, new Nonce(0, 0));
    }
    ByteBuffer in = ByteBuffer.wrap(rejection);
    in.position(4);
    int code = Byte.toUnsignedInt(rejection[1]);
    return new Rejection(
        code < REJECTIONS.size() ? REJECTIONS.get(code) : PeerFailure.REFUSED, Nonce.read(in));
  }

  /** Fills the last bytes of the message with the MAC of those before. */
  private void seal(byte[] message, byte[] role, String serverId, byte[] otherNonce) {
    byte[] mac = macOf(message, role, serverId, otherNonce);
    System.arraycopy(mac, 0, message, message.length - MAC_BYTES, MAC_BYTES);
  }

  private boolean isSealed(byte[] message, byte[] role, String serverId, byte[] otherNonce) {
    byte[] mac = Arrays.copyOfRange(message, message.length - MAC_BYTES, message.length);
    return MessageDigest.isEqual(macOf(message, role, serverId, otherNonce), mac);
  }

  private byte[] macOf(byte[] message, byte[] role, String serverId, byte[] otherNonce) {
    byte[] content = Arrays.copyOf(message, message.length - MAC_BYTES);
    HmacSha256 shared = serverId.equals(PeerId.NODE_SERVICE) ? hmacOfNodeServices : hmac;
    return shared.of(role, otherNonce, content, serverId.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] bytesOf(Nonce nonce) {
    byte[] bytes = new byte[Nonce.SIZE_BYTES];
    nonce.write(ByteBuffer.wrap(bytes));
    return bytes;
  }
}
