/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.control.ProtocolException;

/**
 * What reducers send, and names of jobs, changed, cut and lengthened at random: a decoder returns or refuses them, and allocates
 * little. {@code -Dfuzz.inputs} is the number of inputs for each, and {@code -Dfuzz.seed} repeats a run.
 */
@Timeout(600)
class FuzzedReducerMessagesTest {
  private static final int INPUTS = Integer.getInteger("fuzz.inputs", 150_000);
  private static final long SEED = Long.getLong("fuzz.seed", new Random().nextLong());

  /** Several times what the largest message becomes as objects. */
  private static final long MOST_ALLOCATED_BYTES = 1 << 20;

  private static final String NAME = "alice/application_1700000000000_0001";

  @FunctionalInterface
  private interface Decoder {
    /** False if the input is refused. */
    boolean decode(ByteBuffer input) throws ProtocolException;
  }

  @Test
  void aFetchIsDecodedOrRefused() {
    ByteBuffer fetch = ByteBuffer.allocate(200).putInt(7).putInt(3);
    put(fetch, "host-1.example").putShort((short) 3);
    List.of("attempt_1", "", "attempt_2_with_a_longer_name").forEach(name -> put(fetch, name));
    assertDecodesOrRefuses(fetch.flip(), input -> {
      ReducerMessages.Fetch decoded = ReducerMessages.Fetch.decode(input);
      assertThat(decoded.outputs().size()).isBetween(1, ReducerMessages.MAX_OUTPUTS);
      assertThat(decoded.reduce()).isNotNegative();
      return true;
    });
  }

  private static ByteBuffer put(ByteBuffer out, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return out.putShort((short) bytes.length).put(bytes);
  }

  @Test
  void aReleaseIsDecodedOrRefused() {
    assertDecodesOrRefuses(
        ByteBuffer.allocate(6).putInt(7).putShort((short) 3).flip(),
        input -> ReducerMessages.Release.decode(input).output() >= 0);
  }

  /** Its parts become names of folders. */
  @Test
  void aNameOfAJobHasNothingOfAPath() {
    assertDecodesOrRefuses(StandardCharsets.UTF_8.encode(NAME), input -> {
      JobName job = JobName.parse(StandardCharsets.UTF_8.decode(input).toString());
      if (job == null) {
        return false;
      }
      for (String part : List.of(job.user(), job.application())) {
        assertThat(part).doesNotContain("/", "\0", "\n").doesNotStartWith(".").isNotEmpty();
      }
      return true;
    });
  }

  private static void assertDecodesOrRefuses(ByteBuffer message, Decoder decoder) {
    Random random = new Random(SEED);
    byte[] valid = new byte[message.remaining()];
    message.get(valid);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    int decoded = 0;
    for (int i = -1; i < INPUTS; i++) { // the first one loads classes
      byte[] input = i <= 0 ? valid : changed(valid, random);
      long before = threads.getCurrentThreadAllocatedBytes();
      try {
        decoded += decoder.decode(ByteBuffer.wrap(input)) ? 1 : 0;
      } catch (ProtocolException e) {
        assertThat(e.getMessage()).isNotBlank();
      } catch (RuntimeException | Error e) {
        throw new AssertionError("input %d of seed %d".formatted(i, SEED), e);
      }
      long allocated = threads.getCurrentThreadAllocatedBytes() - before;
      assertThat(i < 0 ? 0 : allocated)
          .as("bytes allocated for input %d of seed %d", i, SEED)
          .isLessThan(MOST_ALLOCATED_BYTES);
    }
    assertThat(decoded).as("inputs that are right").isBetween(2, INPUTS);
  }

  private static byte[] changed(byte[] valid, Random random) {
    byte[] input = valid.clone();
    for (int changes = 1 + random.nextInt(3); changes > 0 && input.length > 0; changes--) {
      int at = random.nextInt(input.length);
      switch (random.nextInt(6)) {
        case 0 -> input[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> input[at] = (byte) random.nextInt();
        case 2 -> input[at] = (byte) "./\0\n-_09".charAt(random.nextInt(8));
        case 3 -> input = Arrays.copyOf(input, at);
        case 4 ->
          input = Arrays.copyOf(input, input.length + random.nextInt(ReducerMessages.MAX_BYTES));
        default -> {
          int from = random.nextInt(input.length);
          int bytes = Math.min(random.nextInt(16), input.length - Math.max(at, from));
          System.arraycopy(input, from, input, at, bytes);
        }
      }
    }
    return input;
  }
}
