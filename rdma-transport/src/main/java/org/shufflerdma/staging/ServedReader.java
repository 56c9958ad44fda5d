/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.control.ControlChannel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The server's end of one control connection, of a reader that has proved itself. The loop's thread takes its
 * requests, and workers carry them out in memory that the {@link LendingDesk} lends.
 */
final class ServedReader implements ControlChannel.Owner {
  private static final Logger LOG = LoggerFactory.getLogger(ServedReader.class);

  private final StagingServer server;
  private final ControlChannel channel;
  private final String address;
  private final LendingDesk.Borrower borrower;

  ServedReader(StagingServer server, ControlChannel channel, String address) {
    this.server = server;
    this.address = address;
    this.channel = channel;
    this.borrower = server.desk().enter(this::execute);
  }

  /** Tells the reader what it may ask for. */
  void begin() {
    channel.send(server.settings().terms().encode());
  }

  void end(IOException why) {
    channel.close(why);
  }

  /** For how long it has asked for nothing and held nothing. */
  long idleNs() {
    return server.desk().idleNs(borrower);
  }

  @Override
  public void received(ByteBuffer body) throws IOException {
    StageRequest request = StageRequest.decode(body);
    server.desk().returned(borrower, request.returned());
    if (!request.asks()) {
      return;
    }
    LendingDesk.Loan loan = server.desk().ask(borrower, request);
    if (loan == null) {
      channel.send(StageReply.refused(request).encode());
    } else {
      execute(loan);
    }
  }

  private void execute(LendingDesk.Loan loan) {
    try {
      server.execute(this, () -> carryOut(loan));
    } catch (IOException | RuntimeException | Error e) { // nobody else would carry it out
      server.desk().giveUp(loan);
      end(new IOException("a request could not be carried out", e));
    }
  }

  /** Runs in a worker. */
  private void carryOut(LendingDesk.Loan loan) {
    StageRequest request = loan.request();
    boolean isTaken = false;
    try {
      LendingDesk.Outcome outcome = server.desk().take(loan);
      isTaken = true;
      switch (outcome) {
        case FILL -> fill(loan, request);
        case WAITS ->
          channel.send(
              StageReply.waiting(request.id(), server.desk().waitMs(loan)).encode());
        case REFUSED -> channel.send(StageReply.refused(request).encode());
        case OVER -> LOG.debug("{} does not want {} any more", address, request);
      }
    } catch (RuntimeException | Error e) {
      if (!isTaken) { // else another worker may have it by now, or its memory is lent
        server.desk().giveUp(loan);
      }
      end(new IOException("a request could not be carried out", e)); // no reply comes to it
      throw e;
    }
  }

  private void fill(LendingDesk.Loan loan, StageRequest request) {
    long start = loan.address();
    int rkey = loan.rkey();
    List<StageReply.Entry> entries = List.of();
    int stagedBytes = 0;
    boolean isLent = false;
    try {
      ByteBuffer memory = loan.memory();
      entries = stage(request, memory);
      stagedBytes = memory.position();
    } finally {
      isLent = server.desk().filled(loan, stagedBytes);
    }
    if (isLent || stagedBytes == 0) {
      int waitMs = server.desk().waitMs(null);
      channel.send(new StageReply(request.id(), waitMs, start, rkey, entries).encode());
    }
  }

  private List<StageReply.Entry> stage(StageRequest request, ByteBuffer memory) {
    StagingStats stats = server.stats();
    stats.requests.increment();
    long startNs = System.nanoTime();
    List<StageReply.Entry> entries = new ArrayList<>(request.ranges().size());
    for (StagedRange range : request.ranges()) {
      if (server.isClosed()) {
        break;
      }
      StageReply.Entry entry;
      try {
        entry = stage(range, memory, entries.isEmpty());
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
      if (entry.isStaged() && entry.stagedBytes() < entry.lengthBytes() - range.fromByte()) {
        break; // a part, which fills the memory
      }
    }
    stats.fileTimes.recordSince(startNs);
    return entries;
  }

  /** Null if the range does not fit behind others. The position moves by what has been staged. */
  private StageReply.@Nullable Entry stage(StagedRange range, ByteBuffer memory, boolean mayBePart)
      throws IOException {
    try (OpenOutputs.Output output = server.outputs().use(range.output())) {
      PartitionIndex.Extent extent = output.extentOf(range);
      long lengthBytes = extent.lengthBytes();
      long wanted = lengthBytes - range.fromByte();
      if (wanted < 0) {
        throw new IOException("byte " + range.fromByte() + " of " + lengthBytes);
      }
      if (wanted > memory.remaining() && !mayBePart) {
        return null;
      }
      int count = (int) Math.min(wanted, memory.remaining());
      ByteBuffer place = memory.slice(memory.position(), count);
      output.read(extent, range.fromByte(), place);
      CRC32C checksum = new CRC32C();
      checksum.update(place.flip());
      memory.position(memory.position() + count);
      return new StageReply.Entry(
          true,
          lengthBytes,
          count,
          (int) checksum.getValue(),
          server.outputs().registered(range.output()));
    }
  }

  @Override
  public void closed(IOException why) {
    server.desk().end(borrower);
    server.ended(this, why, address);
  }
}
