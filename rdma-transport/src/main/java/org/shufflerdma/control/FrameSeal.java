/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import org.shufflerdma.crypto.HmacSha256;

/**
 * Proves that the frames of one direction of a control connection come from its other end, each once and
 * in their order. Used by one thread at a time.
 */
public final class FrameSeal {
  public static final int SIZE_BYTES = 16;

  private final HmacSha256 hmac;
  private final byte direction;
  private long frames;

  /**
   * @param sessionKey of this one connection
   * @param direction tells the frames of both ends apart
   */
  public FrameSeal(byte[] sessionKey, char direction) {
    this.hmac = new HmacSha256(sessionKey);
    this.direction = (byte) direction;
  }

  /** The seal of the next frame, over what remains in {@code body}, whose position stays. */
  byte[] next(ByteBuffer body) {
    byte[] head =
        ByteBuffer.allocate(1 + Long.BYTES).put(direction).putLong(frames++).array();
    return Arrays.copyOf(hmac.of(head, body.duplicate()), SIZE_BYTES);
  }

  /** Whether {@code seal} is that of the next frame. Takes the same time for every wrong one. */
  boolean matchesNext(ByteBuffer body, byte[] seal) {
    return MessageDigest.isEqual(next(body), seal);
  }
}
