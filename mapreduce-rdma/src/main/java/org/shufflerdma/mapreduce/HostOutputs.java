/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import java.io.Closeable;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.SocketTimeoutException;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one fetcher of a reducer asks the node service for, a request at a time: a connection, which is made when it is needed first, and
 * the files that the service has named. After a failure it is left alone for a while. Used by one thread; another one may end it, which
 * ends its wait.
 */
public final class HostOutputs implements Closeable {
  private static final int TIMEOUT_MS = 10_000;
  private static final long LEFT_ALONE_NS = 8_000_000_000L;

  private final JobGrant grant;
  private final int port;
  private final int reduce;
  private final Map<String, FileChannel> files = new HashMap<>(); // guarded by this
  private volatile @Nullable NodeServiceClient client;
  private volatile boolean ended;
  private long leftAloneSinceNs;
  private boolean isLeftAlone;
  private String host = "";
  private List<String> outputs = Collections.emptyList();
  private int request;

  /** Whether the service may have been restarted since it last answered on this connection. */
  private boolean isOfOld;

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

  /** Asks for outputs. Those that were asked for before must have been released. */
  public void ask(String ofHost, List<String> wanted) throws IOException {
    host = ofHost;
    outputs = wanted;
    isOfOld = client != null;
    try {
      ask();
    } catch (IOException e) {
      askAnew(e);
    }
  }

  private void ask() throws IOException {
    NodeServiceClient connected = client;
    if (connected == null) {
      checkGoesOn();
      connected = NodeServiceClient.connect(grant, port, TIMEOUT_MS);
      use(connected);
    }
    request = connected.fetch(reduce, host, outputs);
  }

  private synchronized void use(NodeServiceClient connected) throws IOException {
    client = connected;
    if (ended) {
      close();
    }
    checkGoesOn();
  }

  private void checkGoesOn() throws IOException {
    if (ended) {
      throw new IOException("the fetcher has been told to end");
    }
  }

  private void askAnew(IOException why) throws IOException {
    if (ended || !isOfOld) {
      throw why;
    }
    isOfOld = false;
    close();
    ask();
  }

  /** Waits for the next outcome of the request. */
  public NodeServiceClient.Answer next() throws IOException {
    NodeServiceClient.Answer answer;
    try {
      answer = connected().next(request);
    } catch (SocketTimeoutException e) { // it is there, and does not answer
      throw e;
    } catch (IOException e) {
      askAnew(e);
      answer = connected().next(request);
    }
    isOfOld = false;
    return answer;
  }

  /** The bytes of an output that is there. Reading fails if they may be another's by now. */
  public synchronized InputStream open(NodeServiceClient.Answer output) throws IOException {
    NodeServiceClient holder = connected();
    FileChannel file = files.get(output.file());
    if (file == null) {
      file = FileChannel.open(Paths.get(output.file()), StandardOpenOption.READ);
      files.put(output.file(), file);
    }
    InputStream bytes = new SlabInputStream(file, output.offset(), output.lengthBytes());
    return new FilterInputStream(bytes) {
      @Override
      public int read() throws IOException {
        int value = super.read();
        holder.stay();
        return value;
      }

      @Override
      public int read(byte[] into, int offset, int length) throws IOException {
        int count = super.read(into, offset, length);
        holder.stay();
        return count;
      }
    };
  }

  public void release(NodeServiceClient.Answer output) throws IOException {
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

  /** Ends the wait of the thread that uses it, and all use. Any thread may call. */
  public void end() throws IOException {
    ended = true;
    close();
  }

  /** Whether it has been told to end, so that a failure says nothing. */
  public boolean hasEnded() {
    return ended;
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
