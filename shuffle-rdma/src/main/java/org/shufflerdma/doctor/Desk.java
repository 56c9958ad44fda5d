/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.io.IOException;
import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The driver's side: executors come to it of their own accord, several times a second, and get the command that waits for
 * them. One that does not come any more, or that Spark has lost, has failed all that it was to do. Any thread may call.
 */
final class Desk {
  /** Executors come every tenth of a second, and no collection of garbage takes so long. */
  private static final long SILENT_NS = TimeUnit.SECONDS.toNanos(15);

  /**
   * An executor that has come.
   *
   * @param lost why it is gone; null if it is not
   */
  record Seen(
      String executorId,
      String host,
      double clockAheadMs,
      double clockErrorMs,
      @Nullable String lost) {}

  /** An executor's place; guarded by the desk. */
  private static final class Seat {
    private final String executorId;
    private final String host;
    private double clockAheadMs;
    private double clockErrorMs;
    private long heardNs;
    private int number;
    private @Nullable Command command;
    private CompletableFuture<Serializable> result = new CompletableFuture<>();
    private @Nullable String lost;
    private boolean ended;

    Seat(String executorId, String host) {
      this.executorId = executorId;
      this.host = host;
    }
  }

  private final Map<String, Seat> seats = new LinkedHashMap<>(); // guarded by this
  private boolean ended; // guarded by this

  /** Handles a {@link Wire.Turn}, and returns the {@link Wire.Answer}. */
  byte[] receive(byte[] message) throws IOException {
    if (!(Wire.message(message) instanceof Wire.Turn turn)) {
      throw new IOException("an executor sent what is no turn");
    }
    return Wire.bytes(receive(turn, System.nanoTime()));
  }

  synchronized Wire.Answer receive(Wire.Turn turn, long nowNs) {
    Seat seat =
        seats.computeIfAbsent(turn.executorId(), id -> new Seat(turn.executorId(), turn.host()));
    seat.heardNs = nowNs;
    seat.clockAheadMs = turn.clockAheadMs();
    seat.clockErrorMs = turn.clockErrorMs();
    Wire.Done done = turn.done();
    if (done != null && done.number() == seat.number && seat.command != null) {
      seat.command = null;
      seat.result.complete(done.result());
    }
    Command waiting = seat.command;
    seat.ended |= ended;
    return new Wire.Answer(
        ended ? new Command.End() : waiting == null ? new Command.Wait() : waiting,
        seat.number,
        System.currentTimeMillis());
  }

  /** Has the executor carry the command out. The result fails, with the reason as its message, if it cannot. */
  synchronized CompletableFuture<Serializable> order(String executorId, Command command) {
    Seat seat = seats.get(executorId);
    CompletableFuture<Serializable> result = new CompletableFuture<>();
    if (seat == null || seat.lost != null || seat.command != null) {
      result.completeExceptionally(new IOException(
          seat == null ? "was never seen" : seat.lost != null ? seat.lost : "is still at work"));
      return result;
    }
    seat.command = command;
    seat.number++;
    seat.result = result;
    return result;
  }

  /** The executor is gone. What it was to do has failed. */
  synchronized void lost(String executorId, String why) {
    Seat seat = seats.get(executorId);
    if (seat != null && seat.lost == null) {
      seat.lost = why;
      seat.command = null;
      seat.result.completeExceptionally(new IOException(why));
    }
  }

  /** Gives up executors that have not come for long. */
  synchronized void sweep(long nowNs) {
    for (Seat seat : seats.values()) {
      if (nowNs - seat.heardNs > SILENT_NS) {
        lost(
            seat.executorId,
            "has not been heard of for " + TimeUnit.NANOSECONDS.toSeconds(SILENT_NS) + " s");
      }
    }
  }

  /** Returns the executors that have come, in that order. */
  synchronized List<Seen> seen() {
    return seats.values().stream()
        .map(seat ->
            new Seen(seat.executorId, seat.host, seat.clockAheadMs, seat.clockErrorMs, seat.lost))
        .toList();
  }

  /** Ends the work of all executors. */
  synchronized void end() {
    ended = true;
  }

  /** Whether all executors that are still there know that they have ended. */
  synchronized boolean hasEnded() {
    return seats.values().stream().allMatch(seat -> seat.ended || seat.lost != null);
  }
}
