/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The owner of one native pointer. The native object is freed once. If that fails, this object
 * stays open, so that close can be repeated when what used it is gone.
 */
abstract class NativeObject implements AutoCloseable {
  private final AtomicLong handle;

  NativeObject(long handle) {
    this.handle = new AtomicLong(handle);
  }

  /** Frees the native object. */
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

  /** Whether it is open and has this handle. */
  final boolean isOpen(long value) {
    return value != 0 && handle.get() == value;
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
