/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.crypto;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Random;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HmacSha256Test {
  private static final String ALGORITHM = "HmacSHA256";
  private static final int SEED = 7;

  @ParameterizedTest
  @ValueSource(ints = {1, 16, 63, 64, 65, 256})
  void givesWhatTheJdkGives(int keyBytes) throws Exception {
    Random random = new Random(SEED);
    byte[] key = new byte[keyBytes];
    byte[] head = new byte[8];
    byte[] content = new byte[1000];
    random.nextBytes(key);
    random.nextBytes(head);
    random.nextBytes(content);
    Mac jdk = Mac.getInstance(ALGORITHM);
    jdk.init(new SecretKeySpec(key, ALGORITHM));
    jdk.update(head);
    byte[] expected = jdk.doFinal(content);

    HmacSha256 hmac = new HmacSha256(key);

    assertThat(hmac.of(head, content)).isEqualTo(expected);
    assertThat(hmac.of(head, ByteBuffer.wrap(content))).isEqualTo(expected);
    ByteBuffer direct = ByteBuffer.allocateDirect(content.length).put(content).flip();
    assertThat(hmac.of(head, direct)).isEqualTo(expected);
    assertThat(direct.hasRemaining()).isFalse();
  }

  @Test
  void theContentOfTheKeyIsCopied() {
    byte[] key = {1, 2, 3};
    HmacSha256 hmac = new HmacSha256(key);
    byte[] before = hmac.of(new byte[] {4});
    key[0] = 9;
    assertThat(hmac.of(new byte[] {4})).isEqualTo(before);
  }
}
