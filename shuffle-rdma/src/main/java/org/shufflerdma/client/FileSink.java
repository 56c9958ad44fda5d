/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.DownloadFileWritableChannel;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.shufflerdma.fetch.BlockSink;

/**
 * Streams a block into one of Spark's temporary files, as Spark's own client does with requests too
 * large for memory. The file is Spark's from the start: it is deleted with its task. Written by one
 * thread at a time, closed by any.
 */
final class FileSink implements BlockSink, AutoCloseable {
  private static final TransportConf READ_BACK_CONF =
      new TransportConf("shuffle", MapConfigProvider.EMPTY);

  private final DownloadFileWritableChannel channel;
  private boolean closed;

  private FileSink(DownloadFileWritableChannel channel) {
    this.channel = channel;
  }

  static FileSink open(DownloadFileManager files) throws IOException {
    DownloadFile file = files.createTempFile(READ_BACK_CONF);
    if (!files.registerTempFileToClean(file)) {
      throw new IOException("the task has ended"
          + (file.delete() ? "" : "; this file is left behind: " + file.path()));
    }
    return new FileSink(file.openForWriting());
  }

  @Override
  public synchronized void write(ByteBuffer piece) throws IOException {
    if (closed) {
      throw new ClosedChannelException();
    }
    while (piece.hasRemaining()) {
      channel.write(piece);
    }
  }

  /** Closes the file and returns the whole block, to be read back from it. */
  synchronized ManagedBuffer finish() throws IOException {
    if (closed) {
      throw new ClosedChannelException();
    }
    closed = true;
    return channel.closeAndRead();
  }

  @Override
  public synchronized void close() throws IOException {
    if (!closed) {
      closed = true;
      channel.close();
    }
  }
}
