/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
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

  /** A reducer releases an output as soon as it has copied it. */
  private static final long IDLE_NS = 10_000_000_000L;

  /** The reason for HTTP of a reducer that releases too little of what it has. */
  static final String HAS_ITS_SHARE = "SHARE";

  /** Before the bytes of an output stands its length without compression. */
  private static final int HEAD_BYTES = Long.BYTES;

  private record Output(int fetch, int number) {}

  private final Application application;
  private final ControlChannel channel;
  private final ReducerServer server;

  // Guarded by this.
  private final Set<Output> asked = new HashSet<>();
  private final Map<Output, RegisteredSlice> held = new HashMap<>();
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
    boolean isIdle;
    synchronized (this) {
      isIdle = !held.isEmpty() && System.nanoTime() - heardNs > IDLE_NS;
    }
    if (isIdle) {
      end(new ProtocolException("it holds outputs and says nothing while others wait for memory"));
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
      if (held.isEmpty()) { // it had nothing to say something about
        heardNs = System.nanoTime();
      }
      held.put(output, bytes);
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
    RegisteredSlice bytes;
    synchronized (this) {
      bytes = held.remove(new Output(wanted.id(), wanted.output()));
      if (bytes != null) {
        heldBytes -= bytes.lengthBytes();
      }
    }
    if (bytes != null) {
      bytes.release();
    }
  }

  @Override
  public void closed(IOException why) {
    Map<Output, RegisteredSlice> left;
    Set<BackgroundFetch> toCancel;
    synchronized (this) {
      closed = true;
      left = Map.copyOf(held);
      held.clear();
      heldBytes = 0;
      toCancel = Set.copyOf(fetches);
      fetches.clear();
    }
    toCancel.forEach(BackgroundFetch::cancel);
    left.values().forEach(RegisteredSlice::release);
    server.ended(this, why);
  }
}
