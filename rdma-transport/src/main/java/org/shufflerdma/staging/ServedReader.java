/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ProtocolException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The server's end of one control connection:
 *
 * <pre>
 *   WAITING ──memory──▶ SERVED ──▶ ENDED
 *      └─────────────────────────────▲
 * </pre>
 *
 * It begins when the reader has proved itself. The server's timer grants it memory, and workers carry out its
 * requests. The server gives the memory back when the last of them has ended.
 */
final class ServedReader implements ControlChannel.Owner {
  private static final Logger LOG = LoggerFactory.getLogger(ServedReader.class);

  private enum State {
    WAITING,
    SERVED,
    ENDED
  }

  private final StagingServer server;
  private final ControlChannel channel;
  private final String address;

  // Guarded by this.
  private State state = State.WAITING;
  private @Nullable ReaderMemory memory;
  private final BitSet busyChunks = new BitSet();
  private long grantedNs;
  private long lastRequestNs;

  /** Of a client that has proved itself. */
  ServedReader(StagingServer server, ControlChannel channel, String address) {
    this.server = server;
    this.address = address;
    this.channel = channel;
  }

  void end(IOException why) {
    channel.close(why);
  }

  synchronized boolean isServed() {
    return state == State.SERVED;
  }

  /** How long it has had its memory. */
  synchronized long servedNs() {
    return System.nanoTime() - grantedNs;
  }

  /** How long it has asked for nothing. */
  synchronized long idleNs() {
    return busyChunks.isEmpty() ? System.nanoTime() - lastRequestNs : 0;
  }

  @Override
  public void received(ByteBuffer body) throws IOException {
    switch (state()) {
      case WAITING -> throw new ProtocolException("a request before the grant");
      case SERVED -> accept(StageRequest.decode(body));
      case ENDED -> LOG.debug("A frame of {} came after the end", address);
    }
  }

  private synchronized State state() {
    return state;
  }

  /** The reader owns the memory from now on; false if it has ended. */
  boolean grant(ReaderMemory granted) {
    synchronized (this) {
      if (state == State.ENDED) {
        return false;
      }
      state = State.SERVED;
      memory = granted;
      grantedNs = System.nanoTime();
      lastRequestNs = grantedNs;
    }
    channel.send(granted.grant().encode());
    return true;
  }

  private void accept(StageRequest request) throws IOException {
    synchronized (this) {
      if (memory == null) {
        return; // it has ended
      }
      if (request.chunk() < 0 || request.chunk() >= server.settings().chunksPerReader()) {
        throw new ProtocolException("a request for chunk " + request.chunk());
      }
      if (busyChunks.get(request.chunk())) {
        throw new ProtocolException("two requests at a time for chunk " + request.chunk());
      }
      busyChunks.set(request.chunk());
      lastRequestNs = System.nanoTime();
    }
    boolean handedOver = false;
    try {
      server.execute(this, () -> carryOut(request));
      handedOver = true;
    } finally {
      if (!handedOver) {
        ended(request.chunk());
      }
    }
  }

  /** Runs in a worker. The reader may use the chunk again as soon as it has the reply. */
  private void carryOut(StageRequest request) {
    List<StageReply.Entry> entries;
    try {
      ReaderMemory own = memoryWhileOpen();
      entries = own == null ? List.of() : stage(request, own);
    } finally {
      ended(request.chunk());
    }
    if (!entries.isEmpty()) {
      channel.send(new StageReply(request.id(), entries).encode());
    }
  }

  private synchronized @Nullable ReaderMemory memoryWhileOpen() {
    return state == State.ENDED ? null : memory;
  }

  private List<StageReply.Entry> stage(StageRequest request, ReaderMemory own) {
    StagingStats stats = server.stats();
    stats.requests.increment();
    long startNs = System.nanoTime();
    ByteBuffer chunk = own.chunk(request.chunk());
    chunk.limit(Math.min(chunk.limit(), request.maxBytes()));
    List<StageReply.Entry> entries = new ArrayList<>(request.ranges().size());
    for (StagedRange range : request.ranges()) {
      StageReply.Entry entry;
      try {
        entry = stage(range, chunk, entries.isEmpty());
      } catch (IOException | RuntimeException e) {
        LOG.debug("{} could not be staged for {}", range, address, e);
        entry = StageReply.Entry.refused();
      }
      if (entry == null) {
        break;
      }
      entries.add(entry);
      stats.rangesRefused.add(entry.isStaged() ? 0 : 1);
      stats.bytesStaged.add(entry.stagedBytes());
    }
    stats.fileTimes.recordSince(startNs);
    return entries;
  }

  /** Null if the range does not fit behind others. The position moves by what has been staged. */
  private StageReply.@Nullable Entry stage(StagedRange range, ByteBuffer chunk, boolean mayBePart)
      throws IOException {
    try (OpenOutputs.Output output = server.outputs().use(range.shuffleId(), range.mapId())) {
      OpenOutputs.Extent extent = output.extentOf(range);
      long lengthBytes = extent.lengthBytes();
      long wanted = lengthBytes - range.fromByte();
      if (wanted < 0) {
        throw new IOException("byte " + range.fromByte() + " of " + lengthBytes);
      }
      if (wanted > chunk.remaining() && !mayBePart) {
        return null;
      }
      int count = (int) Math.min(wanted, chunk.remaining());
      ByteBuffer place = chunk.slice(chunk.position(), count);
      output.read(place, extent.start() + range.fromByte());
      CRC32C checksum = new CRC32C();
      checksum.update(place.flip());
      chunk.position(chunk.position() + count);
      return new StageReply.Entry(true, lengthBytes, count, (int) checksum.getValue());
    }
  }

  private void ended(int chunk) {
    ReaderMemory released = null;
    synchronized (this) {
      busyChunks.clear(chunk);
      lastRequestNs = System.nanoTime();
      if (state == State.ENDED) {
        released = takeIdleMemory();
      }
    }
    server.released(this, released);
  }

  @Override
  public void closed(IOException why) {
    ReaderMemory released;
    synchronized (this) {
      state = State.ENDED;
      released = takeIdleMemory();
    }
    server.ended(this, why, address);
    server.released(this, released);
  }

  /** Guarded by this. A worker that still fills a chunk takes the memory when it has. */
  private @Nullable ReaderMemory takeIdleMemory() {
    ReaderMemory taken = busyChunks.isEmpty() ? memory : null;
    if (taken != null) {
      memory = null;
    }
    return taken;
  }
}
