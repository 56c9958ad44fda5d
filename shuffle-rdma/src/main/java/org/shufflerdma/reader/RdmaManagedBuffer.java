/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import io.netty.buffer.Unpooled;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.shufflerdma.memory.RegisteredSlice;

/**
 * A block in a pooled registered buffer, in Spark's form. It counts references as Spark expects:
 * born with one, which its maker gives up after handing it over; the bytes go back to the pool with
 * the last one.
 */
final class RdmaManagedBuffer extends ManagedBuffer {
  private final RegisteredSlice slice;
  private final Runnable onFirstRetain;
  private final AtomicBoolean everRetained = new AtomicBoolean();

  /**
   * Takes over the caller's hold on the slice.
   *
   * @param onFirstRetain called when Spark takes hold of the block, which it then counts as read
   */
  RdmaManagedBuffer(RegisteredSlice slice, Runnable onFirstRetain) {
    this.slice = slice;
    this.onFirstRetain = onFirstRetain;
  }

  @Override
  public long size() {
    return slice.lengthBytes();
  }

  @Override
  public ByteBuffer nioByteBuffer() {
    return slice.nioBuffer().asReadOnlyBuffer();
  }

  @Override
  public InputStream createInputStream() {
    return new SliceInputStream(slice);
  }

  @Override
  public ManagedBuffer retain() {
    slice.retain();
    if (everRetained.compareAndSet(false, true)) {
      onFirstRetain.run();
    }
    return this;
  }

  @Override
  public ManagedBuffer release() {
    slice.release();
    return this;
  }

  @Override
  public Object convertToNetty() {
    return Unpooled.wrappedBuffer(nioByteBuffer());
  }

  /** Abstract in Spark since 4.0; not an override on 3.5. */
  @SuppressWarnings("MissingOverride")
  public Object convertToNettyForSsl() {
    return convertToNetty();
  }
}
