/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;

/**
 * A message, changed, cut, lengthened and mixed at random. {@code -Dfuzz.inputs} is the number of inputs
 * made of it, and {@code -Dfuzz.seed} repeats a run.
 */
public final class FuzzedMessage {
  private static final int INPUTS = Integer.getInteger("fuzz.inputs", 150_000);
  private static final long SEED = Long.getLong("fuzz.seed", new Random().nextLong());

  /** Several times what the largest message becomes as objects. */
  private static final long MOST_ALLOCATED_BYTES = 1 << 20;

  private static final int[] NUMBERS = {
    0, 1, -1, 2, 255, 256, 257, 4096, Integer.MAX_VALUE, Integer.MIN_VALUE
  };

  @FunctionalInterface
  public interface Decoder {
    /** False if the input is refused. */
    boolean decode(byte[] input) throws ProtocolException;
  }

  private final Random random = new Random(SEED);
  private final byte[] valid;
  private final int mostBytes;

  /** @param mostBytes of an input */
  public FuzzedMessage(ByteBuffer valid, int mostBytes) {
    this.valid = new byte[valid.remaining()];
    valid.get(this.valid);
    this.mostBytes = mostBytes;
  }

  /** Each input is decoded or refused, and the decoder allocates little for it. */
  public void assertIsDecodedOrRefused(Decoder decoder) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    int decoded = 0;
    for (int i = -1; i < INPUTS; i++) { // the first one loads classes
      byte[] input = i <= 0 ? valid : changed();
      long before = threads.getCurrentThreadAllocatedBytes();
      try {
        decoded += decoder.decode(input) ? 1 : 0;
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

  private byte[] changed() {
    byte[] input = valid.clone();
    for (int changes = 1 + random.nextInt(4); changes > 0 && input.length > 0; changes--) {
      int at = random.nextInt(input.length);
      switch (random.nextInt(7)) {
        case 0 -> input[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> input[at] = (byte) random.nextInt();
        case 2 -> input[at] = (byte) "./\0\n-_09".charAt(random.nextInt(8));
        case 3 -> {
          int number = NUMBERS[random.nextInt(NUMBERS.length)];
          if (input.length - at >= Integer.BYTES) {
            ByteBuffer.wrap(input).putInt(at, number);
          }
        }
        case 4 -> input = Arrays.copyOf(input, at);
        case 5 -> input = Arrays.copyOf(input, random.nextInt(mostBytes));
        default -> {
          int from = random.nextInt(input.length);
          int bytes = Math.min(random.nextInt(64), input.length - Math.max(at, from));
          System.arraycopy(input, from, input, at, bytes);
        }
      }
    }
    return input;
  }
}
