/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.control.Hello;
import org.shufflerdma.control.MutualProof;

/**
 * By what both ends of a control connection for staging prove that they belong to one application. The hello
 * ({@link Hello}) names the server's nonce, so that no other run of the executor is meant; the context of the
 * proof is that nonce and the executor id of the server.
 */
final class StagingProof {
  static final Hello.Form HELLO = new Hello.Form(0x53525354, 4, Nonce.SIZE_BYTES); // "SRST"

  private static final String KEY_PURPOSE = "staging-v4";

  private StagingProof() {}

  /** The proof of connections to this server. */
  static MutualProof of(LocalIdentity identity, String serverId) {
    return new MutualProof(identity.keyFor(serverId, KEY_PURPOSE));
  }

  /** Names the server in a hello. */
  static byte[] nameOf(Nonce serverNonce) {
    ByteBuffer name = ByteBuffer.allocate(Nonce.SIZE_BYTES);
    serverNonce.write(name);
    return name.array();
  }

  static byte[] contextOf(PeerId server) {
    byte[] id = server.executorId().getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(Nonce.SIZE_BYTES + id.length)
        .put(nameOf(server.endpoint().bootNonce()))
        .put(id)
        .array();
  }
}
