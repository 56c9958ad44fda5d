/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Owner of one native pointer. The pointer is given back once; a failed give-back leaves the object
 * open, so that it can be repeated when what used the object is gone.
 */
abstract class NativeObject implements AutoCloseable {
  private final AtomicLong handle;

  NativeObject(long handle) {
    this.handle = new AtomicLong(handle);
  }

  /** Gives the native object back. */
  abstract void release(long handle) throws VerbsException;

  final long handle() {
    long value = handle.get();
    if (value == 0) {
      throw new IllegalStateException(getClass().getSimpleName() + " is closed");
    }
    return value;
  }

  public final boolean isOpen() {
    return handle.get() != 0;
  }

  @Override
  public void close() throws VerbsException {
    long value = handle.getAndSet(0);
    if (value == 0) {
      return;
    }
    boolean released = false;
    try {
      release(value);
      released = true;
    } finally {
      if (!released) {
        handle.set(value);
      }
    }
  }

  static void check(String call, int errno) throws VerbsException {
    if (errno != 0) {
      throw VerbsException.of(call, errno);
    }
  }
}
