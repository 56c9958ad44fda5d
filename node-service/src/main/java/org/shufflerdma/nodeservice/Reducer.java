/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.fetch.BackgroundFetch;
import org.shufflerdma.memory.RegisteredSlice;

/**
 * One connection of a reducer that has proved itself: what it has asked for, and the outputs that it has not released. All of
 * that ends with the connection. The loop's thread takes its messages; any thread may call.
 */
final class Reducer implements ControlChannel.Owner {
  /** Those of the largest request. Hadoop's reducer asks for 20 at a time on one connection. */
  private static final int MAX_OUTPUTS = ReducerMessages.MAX_OUTPUTS;

  /** More than the answers to so many outputs take. */
  static final int MAX_UNSENT_BYTES = 64 << 10;

  /** What it can take of the heap by what it asks for and does not read: names, answers and the channel's buffers. */
  static final int MAX_HEAP_BYTES = 160 << 10;

  /** A reducer that copies an output says so, and releases it as soon as it has copied it. */
  private static final long IDLE_NS = 10_000_000_000L;

  /** Whatever it says, it does not keep an output for longer while others wait for memory. */
  private static final long MOST_HELD_NS = 60_000_000_000L;

  /** The reason for HTTP of a reducer that releases too little of what it has. */
  static final String HAS_ITS_SHARE = "SHARE";

  /** Before the bytes of an output stands its length without compression. */
  private static final int HEAD_BYTES = Long.BYTES;

  private record Output(int fetch, int number) {}

  private record Held(RegisteredSlice bytes, long sinceNs) {}

  private final Application application;
  private final ControlChannel channel;
  private final ReducerServer server;

  // Guarded by this.
  private final Set<Output> asked = new HashSet<>();
  private final Map<Output, Held> held = new LinkedHashMap<>(); // the oldest first
  private final Set<BackgroundFetch> fetches = new HashSet<>();
  private long heldBytes;
  private long heardNs = System.nanoTime();
  private boolean closed;

  Reducer(ReducerServer server, Application application, ControlChannel channel) {
    this.server = server;
    this.application = application;
    this.channel = channel;
  }

  Application application() {
    return application;
  }

  void end(IOException why) {
    channel.close(why);
  }

  @Override
  public void received(ByteBuffer body) throws ProtocolException {
    if (!body.hasRemaining()) {
      throw new ProtocolException("an empty message");
    }
    noteHeard();
    byte type = body.get();
    switch (type) {
      case ReducerMessages.FETCH -> fetch(ReducerMessages.Fetch.decode(body));
      case ReducerMessages.RELEASE -> release(ReducerMessages.Release.decode(body));
      default -> throw new ProtocolException("a message of the unknown type " + type);
    }
  }

  synchronized long heldBytes() {
    return heldBytes;
  }

  private synchronized void noteHeard() {
    heardNs = System.nanoTime();
  }

  /** It may have been stopped, or want to keep others from their outputs. It can have the rest by HTTP. */
  void endIfIdle() {
    long nowNs = System.nanoTime();
    boolean isIdle;
    boolean keeps;
    synchronized (this) {
      isIdle = !held.isEmpty() && nowNs - heardNs > IDLE_NS;
      keeps = !held.isEmpty() && nowNs - held.values().iterator().next().sinceNs() > MOST_HELD_NS;
    }
    if (isIdle || keeps) {
      end(new ProtocolException("it holds outputs and "
          + (isIdle ? "says nothing" : "does not release them") + " while others wait for memory"));
    }
  }

  private void fetch(ReducerMessages.Fetch wanted) throws ProtocolException {
    boolean hasItsShare;
    synchronized (this) {
      fetches.removeIf(BackgroundFetch::hasEnded);
      if (asked.size() + held.size() + wanted.outputs().size() > MAX_OUTPUTS) {
        throw new ProtocolException("more than " + MAX_OUTPUTS + " outputs at a time");
      }
      for (int output = 0; output < wanted.outputs().size(); output++) {
        Output one = new Output(wanted.id(), output);
        if (held.containsKey(one) || !asked.add(one)) {
          throw new ProtocolException("two requests with the number " + wanted.id());
        }
      }
      hasItsShare = !held.isEmpty() && heldBytes >= server.shareBytes();
    }
    JobReads.Listener listener = new JobReads.Listener() {
      @Override
      public void onSuccess(int output, RegisteredSlice bytes) {
        deliver(new Output(wanted.id(), output), bytes);
      }

      @Override
      public void onFailure(int output, String reason) {
        refuse(new Output(wanted.id(), output), reason);
      }
    };
    if (hasItsShare) {
      for (int output = 0; output < wanted.outputs().size(); output++) {
        listener.onFailure(output, HAS_ITS_SHARE);
      }
    } else {
      server.execute(application, () -> begin(wanted, listener));
    }
  }

  /** Runs in a worker, as it may open what the job reads by. */
  private void begin(ReducerMessages.Fetch wanted, JobReads.Listener listener) {
    try {
      application.reads().fetch(wanted, listener, this::begun);
    } catch (IOException | RuntimeException | Error e) {
      server.note("outputs of " + application.grant() + " cannot be read", e);
      for (int output = 0; output < wanted.outputs().size(); output++) {
        listener.onFailure(output, "RDMA_OFF");
      }
    }
  }

  private void begun(BackgroundFetch fetch) {
    boolean isWanted;
    synchronized (this) {
      isWanted = !closed;
      if (isWanted) {
        fetches.add(fetch);
      }
    }
    if (!isWanted) {
      fetch.cancel();
    }
  }

  private void deliver(Output output, RegisteredSlice bytes) {
    boolean isHeld = false;
    try {
      isHeld = hold(output, bytes);
    } finally {
      if (!isHeld) {
        bytes.release();
      }
    }
  }

  /** False if nobody wants the bytes any more. Throws if the other service has sent what is no output. */
  private boolean hold(Output output, RegisteredSlice bytes) {
    long lengthBytes = bytes.lengthBytes() - HEAD_BYTES;
    if (lengthBytes < 0) {
      throw new IllegalStateException("an output of " + bytes.lengthBytes() + " bytes");
    }
    Path file = Objects.requireNonNull(bytes.file());
    ByteBuffer message = ReducerMessages.output(
        output.fetch(),
        output.number(),
        file.toString(),
        bytes.fileOffset() + HEAD_BYTES,
        lengthBytes,
        bytes.nioBuffer(0, HEAD_BYTES).getLong());
    synchronized (this) {
      if (closed || !asked.remove(output)) {
        return false;
      }
      long nowNs = System.nanoTime();
      if (held.isEmpty()) { // it had nothing to say something about
        heardNs = nowNs;
      }
      held.put(output, new Held(bytes, nowNs));
      heldBytes += bytes.lengthBytes();
    }
    server.delivered(lengthBytes);
    channel.send(message);
    return true;
  }

  private void refuse(Output output, String reason) {
    synchronized (this) {
      asked.remove(output);
    }
    server.refused(reason);
    channel.send(ReducerMessages.refusal(output.fetch(), output.number(), reason));
  }

  /** One that is not held has been released before. */
  private void release(ReducerMessages.Release wanted) {
    Held released;
    synchronized (this) {
      released = held.remove(new Output(wanted.id(), wanted.output()));
      if (released != null) {
        heldBytes -= released.bytes().lengthBytes();
      }
    }
    if (released != null) {
      released.bytes().release();
    }
  }

  @Override
  public void closed(IOException why) {
    List<Held> left;
    Set<BackgroundFetch> toCancel;
    synchronized (this) {
      closed = true;
      left = List.copyOf(held.values());
      held.clear();
      heldBytes = 0;
      toCancel = Set.copyOf(fetches);
      fetches.clear();
    }
    toCancel.forEach(BackgroundFetch::cancel);
    left.forEach(each -> each.bytes().release());
    server.ended(this, why);
  }
}
