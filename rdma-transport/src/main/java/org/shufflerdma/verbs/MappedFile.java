/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A whole file, mapped to be registered with {@link Access#REMOTE_READ}: opened O_RDWR, MAP_SHARED,
 * readable and writable, as kernels differ on everything else. Nobody reads or writes through the
 * mapping, so a truncated file cannot raise SIGBUS here. Keeps the descriptor until close.
 */
public final class MappedFile implements AutoCloseable {
  /** How this JVM turns the bytes of file names into characters and back. */
  private static final Charset FILE_NAMES =
      Charset.forName(System.getProperty("sun.jnu.encoding", StandardCharsets.UTF_8.name()));

  private final Path path;
  private final int descriptor;
  private final long address;
  private final long size;
  private final AtomicBoolean closed = new AtomicBoolean();

  private MappedFile(Path path, int descriptor, long address, long size) {
    this.path = path;
    this.descriptor = descriptor;
    this.address = address;
    this.size = size;
  }

  /** Maps the file as long as it is now; an empty file has address 0. */
  public static MappedFile open(Path path) throws VerbsException {
    long[] addressAndSize = new long[2];
    byte[] name = path.toString().getBytes(FILE_NAMES);
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
    if (closed.get()) {
      throw new IllegalStateException(path + " is closed");
    }
    return descriptor;
  }

  @Override
  public void close() throws VerbsException {
    if (closed.compareAndSet(false, true)) {
      NativeObject.check("munmap", Natives.closeFile(descriptor, address, size));
    }
  }
}
