/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.control.Hello;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.node.LookupMessages;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registration;

/**
 * All messages of staging and of the node service, changed, cut, lengthened and mixed at random: a
 * decoder returns or refuses them, and allocates little. {@code -Dfuzz.inputs} is the number of inputs for
 * each message, and {@code -Dfuzz.seed} repeats a run.
 */
@Timeout(600)
class FuzzedMessagesTest {
  private static final int INPUTS = Integer.getInteger("fuzz.inputs", 150_000);
  private static final long SEED = Long.getLong("fuzz.seed", new Random().nextLong());
  private static final int MOST_BYTES = StageRequest.MAX_BYTES + 64;

  /** Several times what the largest message becomes as objects. */
  private static final long MOST_ALLOCATED_BYTES = 1 << 20;

  private static final int[] NUMBERS = {
    0, 1, -1, 2, 255, 256, 257, 4096, Integer.MAX_VALUE, Integer.MIN_VALUE
  };

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
    Random random = new Random(SEED);
    byte[] valid = new byte[message.valid().remaining()];
    message.valid().get(valid);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    int decoded = 0;
    for (int i = 0; i < INPUTS; i++) {
      byte[] input = i == 0 ? valid : changed(valid, random);
      long before = threads.getCurrentThreadAllocatedBytes();
      try {
        assertThat(message.decoder().decode(input)).isNotNull();
        decoded++;
      } catch (ProtocolException | IllegalArgumentException e) {
        assertThat(e.getMessage()).isNotBlank();
      } catch (RuntimeException | Error e) {
        throw new AssertionError("input %d of seed %d".formatted(i, SEED), e);
      }
      assertThat(threads.getCurrentThreadAllocatedBytes() - before)
          .as("bytes allocated for input %d of seed %d", i, SEED)
          .isLessThan(MOST_ALLOCATED_BYTES);
    }
    assertThat(decoded).as("inputs that are right").isBetween(1, INPUTS - 1);
  }

  private static byte[] changed(byte[] valid, Random random) {
    byte[] input = valid.clone();
    for (int changes = 1 + random.nextInt(4); changes > 0; changes--) {
      if (input.length == 0) {
        return input;
      }
      int at = random.nextInt(input.length);
      switch (random.nextInt(6)) {
        case 0 -> input[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> input[at] = (byte) random.nextInt();
        case 2 -> {
          int number = NUMBERS[random.nextInt(NUMBERS.length)];
          if (input.length - at >= Integer.BYTES) {
            ByteBuffer.wrap(input).putInt(at, number);
          }
        }
        case 3 -> input = Arrays.copyOf(input, at);
        case 4 -> input = Arrays.copyOf(input, random.nextInt(MOST_BYTES));
        default -> {
          int from = random.nextInt(input.length);
          int bytes = Math.min(random.nextInt(64), input.length - Math.max(at, from));
          System.arraycopy(input, from, input, at, bytes);
        }
      }
    }
    return input;
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
