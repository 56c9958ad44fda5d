/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.shufflerdma.connection.Handshake.Reply;

class HandshakeTest {
  private static final Nonce BOOT_NONCE = new Nonce(0x0123456789ABCDEFL, -2);
  private static final PeerId SERVER =
      new PeerId("server", new RdmaEndpoint("127.0.0.1", 4711, BOOT_NONCE));
  private static final byte[] CLIENT_NONCE = "twelve bytes".getBytes(StandardCharsets.UTF_8);
  private static final Reply REPLY = new Reply(0x7F00_0000_1000L, -3, 40_404);

  private static Handshake of(String appId, String secret) {
    return new Handshake(new LocalIdentity(appId, "any", secret.getBytes(StandardCharsets.UTF_8)));
  }

  private static final Handshake HANDSHAKE = of("app-1", "secret");

  /** As rdma_cm gives it to the receiver: zero padded. */
  private static byte[] padded(byte[] privateData) {
    return Arrays.copyOf(privateData, 255);
  }

  @Test
  void bothEndsProveThemselves() throws Exception {
    byte[] request = HANDSHAKE.request(CLIENT_NONCE, SERVER);
    assertThat(request).hasSize(56);
    assertThat(HANDSHAKE.checkRequest(padded(request), "server", BOOT_NONCE)).isNull();
    assertThat(Handshake.clientNonce(padded(request))).isEqualTo(CLIENT_NONCE);
    byte[] reply = HANDSHAKE.reply(padded(request), "server", BOOT_NONCE, REPLY);
    assertThat(HANDSHAKE.checkReply(padded(reply), CLIENT_NONCE, SERVER)).isEqualTo(REPLY);
  }

  @Test
  void everyFlippedBitOfARequestIsRejected() {
    byte[] request = HANDSHAKE.request(CLIENT_NONCE, SERVER);
    for (int bit = 0; bit < request.length * 8; bit++) {
      byte[] flipped = request.clone();
      flipped[bit / 8] ^= (byte) (1 << (bit % 8));
      assertThat(HANDSHAKE.checkRequest(padded(flipped), "server", BOOT_NONCE))
          .as("bit %d", bit)
          .isNotNull();
    }
  }

  @Test
  void everyFlippedBitOfAReplyIsRefused() {
    byte[] request = HANDSHAKE.request(CLIENT_NONCE, SERVER);
    byte[] reply = HANDSHAKE.reply(request, "server", BOOT_NONCE, REPLY);
    for (int bit = 0; bit < reply.length * 8; bit++) {
      byte[] flipped = reply.clone();
      flipped[bit / 8] ^= (byte) (1 << (bit % 8));
      assertThatThrownBy(() -> HANDSHAKE.checkReply(padded(flipped), CLIENT_NONCE, SERVER))
          .as("bit %d", bit)
          .isInstanceOf(NoConnectionException.class);
    }
  }

  @Test
  void anotherSecretOrApplicationIsRejected() {
    byte[] request = HANDSHAKE.request(CLIENT_NONCE, SERVER);
    assertThat(of("app-1", "guess").checkRequest(request, "server", BOOT_NONCE))
        .isEqualTo(PeerFailure.SECRET);
    assertThat(of("app-2", "secret").checkRequest(request, "server", BOOT_NONCE))
        .isEqualTo(PeerFailure.SECRET);
  }

  @Test
  void aRequestForAnotherExecutorIsRejected() {
    byte[] request = HANDSHAKE.request(CLIENT_NONCE, SERVER);
    assertThat(HANDSHAKE.checkRequest(request, "another", BOOT_NONCE))
        .isEqualTo(PeerFailure.SECRET);
  }

  @Test
  void aRequestForAnEarlierRunIsRejectedAsSuch() {
    byte[] request = HANDSHAKE.request(CLIENT_NONCE, SERVER);
    assertThat(HANDSHAKE.checkRequest(request, "server", new Nonce(5, 6)))
        .isEqualTo(PeerFailure.NONCE);
  }

  @Test
  void aReplyOfAnotherRunIsANonceMismatch() {
    byte[] request = HANDSHAKE.request(CLIENT_NONCE, SERVER);
    byte[] reply = HANDSHAKE.reply(request, "server", new Nonce(5, 6), REPLY);
    assertThatThrownBy(() -> HANDSHAKE.checkReply(reply, CLIENT_NONCE, SERVER))
        .isInstanceOfSatisfying(
            NoConnectionException.class, e -> assertThat(e.failure()).isEqualTo(PeerFailure.NONCE));
  }

  @Test
  void aReplyToAnotherRequestIsRefused() {
    byte[] request = HANDSHAKE.request(CLIENT_NONCE, SERVER);
    byte[] reply = HANDSHAKE.reply(request, "server", BOOT_NONCE, REPLY);
    byte[] otherNonce = "other nonce!".getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> HANDSHAKE.checkReply(reply, otherNonce, SERVER))
        .isInstanceOf(NoConnectionException.class);
  }

  @Test
  void aRequestCannotServeAsAReply() {
    byte[] request = padded(HANDSHAKE.request(CLIENT_NONCE, SERVER));
    assertThatThrownBy(() -> HANDSHAKE.checkReply(request, CLIENT_NONCE, SERVER))
        .isInstanceOf(NoConnectionException.class);
  }

  @Test
  void rejectionsCarryTheirReason() {
    for (PeerFailure reason : Handshake.REJECTIONS) {
      Handshake.Rejection rejection =
          Handshake.readRejection(padded(Handshake.rejection(reason, BOOT_NONCE)));
      assertThat(rejection).isEqualTo(new Handshake.Rejection(reason, BOOT_NONCE));
    }
  }

  @Test
  void aRejectionOfAnotherVersionSaysThatTheVersionsDiffer() {
    byte[] rejection = padded(Handshake.rejection(PeerFailure.SECRET, BOOT_NONCE));
    rejection[0]++;
    assertThat(Handshake.readRejection(rejection).reason()).isEqualTo(PeerFailure.VERSION);
  }

  @Test
  void foreignPrivateDataIsAnUnknownRejection() {
    assertThat(Handshake.readRejection(new byte[148]).reason()).isEqualTo(PeerFailure.REFUSED);
    assertThat(Handshake.readRejection(new byte[0]).reason()).isEqualTo(PeerFailure.REFUSED);
  }
}
