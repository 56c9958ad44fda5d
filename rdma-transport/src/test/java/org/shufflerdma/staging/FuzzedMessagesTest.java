/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.control.FuzzedMessage;
import org.shufflerdma.control.Hello;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.node.LookupMessages;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registration;

/**
 * All messages of staging and of the node service, each as a {@link FuzzedMessage}: a decoder returns or
 * refuses it, and allocates little.
 */
@Timeout(600)
class FuzzedMessagesTest {
  private static final int MOST_BYTES = StageRequest.MAX_BYTES + 64;

  @FunctionalInterface
  private interface Decoder {
    Object decode(byte[] input) throws ProtocolException;
  }

  private record Message(String name, ByteBuffer valid, Decoder decoder) {
    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Message> messages() {
    Nonce nonce = new Nonce(1, 2);
    StagedRange range = new StagedRange(1, 2, 3, 4, 5);
    StageReply.Entry entry =
        new StageReply.Entry(true, 100, 100, 7, new RegisteredOutput(4096, 5, 6, 7));
    return Stream.of(
        new Message(
            "StageRequest",
            new StageRequest(7, 4096, List.of(5L, 6L), List.of(range, range, range)).encode(),
            input -> StageRequest.decode(ByteBuffer.wrap(input))),
        new Message(
            "StageReply",
            new StageReply(7, 0, 1 << 20, 9, List.of(entry, StageReply.Entry.refused(), entry))
                .encode(),
            input -> StageReply.decode(ByteBuffer.wrap(input))),
        new Message(
            "StagingTerms",
            new StagingTerms(1 << 20, 4, 2_000).encode(),
            input -> StagingTerms.decode(ByteBuffer.wrap(input))),
        new Message(
            "Hello of staging",
            StagingProof.HELLO.encode(
                new Hello(new byte[16], new byte[32], StagingProof.nameOf(nonce))),
            input -> StagingProof.HELLO.decode(ByteBuffer.wrap(input))),
        new Message(
            "Hello of a lookup",
            LookupMessages.HELLO.encode(
                new Hello(new byte[16], new byte[32], LookupMessages.nameOf("app-1"))),
            input -> LookupMessages.appIdOf(
                LookupMessages.HELLO.decode(ByteBuffer.wrap(input)).name())),
        new Message(
            "LookupMessages.endpoint",
            LookupMessages.encode(new RdmaEndpoint("127.0.0.1", 7, nonce)),
            input -> LookupMessages.decodeEndpoint(ByteBuffer.wrap(input))),
        new Message(
            "Registration",
            new Registration(
                    "app-1",
                    new byte[32],
                    new byte[16],
                    new OutputFolders(List.of(Path.of("/a/b"), Path.of("/c")), 64))
                .encode(),
            Registration::decode));
  }

  @ParameterizedTest
  @MethodSource("messages")
  void isDecodedOrRefused(Message message) {
    new FuzzedMessage(message.valid(), MOST_BYTES).assertIsDecodedOrRefused(input -> {
      try {
        assertThat(message.decoder().decode(input)).isNotNull();
        return true;
      } catch (IllegalArgumentException e) {
        assertThat(e.getMessage()).isNotBlank();
        return false;
      }
    });
  }

  /** It must not count as staged. */
  @Test
  void aReplyWithAStatusThatNoServerSendsIsRefused() {
    StageReply.Entry entry = new StageReply.Entry(true, 100, 100, 7, null);
    ByteBuffer body = new StageReply(1, 0, 4096, 5, List.of(entry)).encode();
    int statusAt = body.remaining() - 20;
    for (int status : new int[] {-1, 3, Integer.MAX_VALUE}) {
      assertThatExceptionOfType(ProtocolException.class)
          .isThrownBy(() -> StageReply.decode(body.duplicate().putInt(statusAt, status)))
          .withMessageContaining("status " + status);
    }
  }
}
