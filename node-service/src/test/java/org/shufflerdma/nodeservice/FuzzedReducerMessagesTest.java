/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.control.FuzzedMessage;

/**
 * What reducers send, and names of jobs, each as a {@link FuzzedMessage}: a decoder returns or refuses it, and allocates
 * little.
 */
@Timeout(600)
class FuzzedReducerMessagesTest {
  /** Longer than any message may be. */
  private static final int MOST_BYTES = ReducerMessages.MAX_BYTES + 200;

  private static final String NAME = "alice/application_1700000000000_0001";

  @Test
  void aFetchIsDecodedOrRefused() {
    ByteBuffer fetch = ByteBuffer.allocate(200).putInt(7).putInt(3);
    put(fetch, "host-1.example").putShort((short) 3);
    List.of("attempt_1", "", "attempt_2_with_a_longer_name").forEach(name -> put(fetch, name));
    assertDecodesOrRefuses(fetch.flip(), input -> {
      ReducerMessages.Fetch decoded = ReducerMessages.Fetch.decode(ByteBuffer.wrap(input));
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
        input -> ReducerMessages.Release.decode(ByteBuffer.wrap(input)).output() >= 0);
  }

  /** Its parts become names of folders. */
  @Test
  void aNameOfAJobHasNothingOfAPath() {
    assertDecodesOrRefuses(StandardCharsets.UTF_8.encode(NAME), input -> {
      JobName job = JobName.parse(new String(input, StandardCharsets.UTF_8));
      if (job == null) {
        return false;
      }
      for (String part : List.of(job.user(), job.application())) {
        assertThat(part).doesNotContain("/", "\0", "\n").doesNotStartWith(".").isNotEmpty();
      }
      return true;
    });
  }

  private static void assertDecodesOrRefuses(ByteBuffer message, FuzzedMessage.Decoder decoder) {
    new FuzzedMessage(message, MOST_BYTES).assertIsDecodedOrRefused(decoder);
  }
}
