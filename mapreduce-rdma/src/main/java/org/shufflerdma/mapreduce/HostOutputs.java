/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one fetcher of a reducer asks the node service for: a connection, which is made when it is needed first, and the files that
 * the service has named. After a failure it is left alone for a while. Used by one thread; another one may close it, which ends its wait.
 */
public final class HostOutputs implements Closeable {
  private static final int TIMEOUT_MS = 10_000;
  private static final long LEFT_ALONE_NS = 8_000_000_000L;

  private final JobGrant grant;
  private final int port;
  private final int reduce;
  private final Map<String, FileChannel> files = new HashMap<>(); // guarded by this
  private volatile @Nullable NodeServiceClient client;
  private long leftAloneSinceNs;
  private boolean isLeftAlone;

  /** @param reduce the partition that all outputs are asked for */
  public HostOutputs(JobGrant grant, int port, int reduce) {
    this.grant = grant;
    this.port = port;
    this.reduce = reduce;
  }

  /** Whether the service may be asked. */
  public boolean isOpen() {
    if (isLeftAlone && System.nanoTime() - leftAloneSinceNs > LEFT_ALONE_NS) {
      isLeftAlone = false;
    }
    return !isLeftAlone;
  }

  /** Asks for outputs, and returns the number of the request. */
  public int ask(String host, List<String> outputs) throws IOException {
    NodeServiceClient connected = client;
    if (connected == null) {
      connected = NodeServiceClient.connect(grant, port, TIMEOUT_MS);
      client = connected;
    }
    return connected.fetch(reduce, host, outputs);
  }

  /** Waits for the next outcome of the request. */
  public NodeServiceClient.Answer next(int request) throws IOException {
    return connected().next(request);
  }

  /** The bytes of an output that is there. */
  public synchronized InputStream open(NodeServiceClient.Answer output) throws IOException {
    FileChannel file = files.get(output.file());
    if (file == null) {
      file = FileChannel.open(Paths.get(output.file()), StandardOpenOption.READ);
      files.put(output.file(), file);
    }
    return new SlabInputStream(file, output.offset(), output.lengthBytes());
  }

  public void release(int request, NodeServiceClient.Answer output) throws IOException {
    connected().release(request, output.output());
  }

  /** All outputs of a request have been taken. A file that stays open would keep memory that the service has given up. */
  public synchronized void endRequest() throws IOException {
    for (FileChannel file : files.values()) {
      file.close();
    }
    files.clear();
  }

  private NodeServiceClient connected() throws IOException {
    NodeServiceClient connected = client;
    if (connected == null) {
      throw new IOException("nothing has been asked for");
    }
    return connected;
  }

  /** The service is of no use, and is asked for nothing for a while. */
  public synchronized void leaveAlone() throws IOException {
    isLeftAlone = true;
    leftAloneSinceNs = System.nanoTime();
    close();
  }

  /** Gives back everything. It can be asked again. */
  @Override
  public synchronized void close() throws IOException {
    NodeServiceClient connected = client;
    client = null;
    if (connected != null) {
      connected.close();
    }
    endRequest();
  }
}
