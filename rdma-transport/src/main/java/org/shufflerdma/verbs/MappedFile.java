/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.file.Path;

/**
 * A whole file, mapped to be registered with {@link Access#REMOTE_READ}. It is opened O_RDWR and
 * mapped MAP_SHARED, readable and writable, because that is what all kernels can register. Nobody
 * reads or writes through the mapping, so a truncated file cannot raise SIGBUS here. What no region
 * needs any more can be given back before close. Not thread-safe.
 */
public final class MappedFile implements AutoCloseable {
  private static final int NONE = -1;

  private final Path path;
  private final long address;
  private final long size;
  private int descriptor;
  private boolean mapped;

  private MappedFile(Path path, int descriptor, long address, long size) {
    this.path = path;
    this.descriptor = descriptor;
    this.address = address;
    this.size = size;
    this.mapped = size > 0;
  }

  /** Maps the file at its present length; an empty file has address 0. */
  public static MappedFile open(Path path) throws VerbsException {
    long[] addressAndSize = new long[2];
    byte[] name = FileNames.bytesOf(path.toString());
    int descriptor;
    try {
      descriptor = Natives.openFile(name, addressAndSize);
    } catch (VerbsException e) {
      VerbsException named = VerbsException.of(e.call(), e.errno(), ": " + path);
      named.initCause(e);
      throw named;
    }
    return new MappedFile(path, descriptor, addressAndSize[0], addressAndSize[1]);
  }

  public Path path() {
    return path;
  }

  public long address() {
    return address;
  }

  public long size() {
    return size;
  }

  int descriptor() {
    if (descriptor == NONE) {
      throw new IllegalStateException("the descriptor of " + path + " is closed");
    }
    return descriptor;
  }

  /** Closes the descriptor and keeps the mapping: nothing more of the file can be registered. */
  public void closeDescriptor() {
    if (descriptor != NONE) {
      Natives.closeFile(descriptor);
      descriptor = NONE;
    }
  }

  @Override
  public void close() throws VerbsException {
    closeDescriptor();
    if (mapped) {
      mapped = false;
      NativeObject.check("munmap", Natives.unmapMemory(address, size));
    }
  }
}
