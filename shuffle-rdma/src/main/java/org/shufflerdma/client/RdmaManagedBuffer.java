/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import io.netty.buffer.Unpooled;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.shufflerdma.memory.RegisteredSlice;

/**
 * A block in a pooled registered buffer, in Spark's form. It counts references as Spark expects; the
 * bytes go back to the pool when Spark has released what it retained, and the maker its slice. Any
 * thread may call.
 */
final class RdmaManagedBuffer extends ManagedBuffer {
  private final RegisteredSlice slice;
  private final Runnable onFirstRetain;

  // Guarded by this.
  private int references;
  private boolean everRetained;
  private boolean revoked;

  /**
   * The caller keeps its own hold on the slice.
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
  public synchronized ManagedBuffer retain() {
    if (revoked) {
      throw new IllegalStateException("the block has been given back to the pool");
    }
    slice.retain();
    references++;
    if (!everRetained) {
      everRetained = true;
      onFirstRetain.run();
    }
    return this;
  }

  @Override
  public synchronized ManagedBuffer release() {
    if (!revoked) {
      slice.release();
      references--;
    }
    return this;
  }

  /**
   * Releases all references that Spark took, because it may have lost them when its listener threw.
   * Streams of the block throw an exception from then on.
   */
  synchronized void revoke() {
    revoked = true;
    for (; references > 0; references--) {
      slice.release();
    }
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
