/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/**
 * One end of a control connection: frames of a length, a body, and once both ends have proved themselves a
 * seal. Any thread may send and close; the loop's thread reads. It closes itself when the other end does, or
 * does not keep to the protocol, and tells its owner.
 */
public final class ControlChannel implements ControlLoop.Member {
  private static final int READ_BYTES = 16 << 10;

  /** More than all requests, or all replies, that can be under way at a time: the other end does not read. */
  private static final int MAX_UNSENT_BYTES = 1 << 20;

  /** Whose channel it is. The loop's thread calls {@link #received}, any thread {@link #closed}, once. */
  public interface Owner {
    /** Takes the body of a frame, which is its own from then on. What it throws closes the channel. */
    void received(ByteBuffer body) throws IOException;

    void closed(IOException why);
  }

  private final SocketChannel socket;
  private final ControlLoop loop;
  private final Owner owner;
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile @Nullable Deadline end;
  private volatile int maxUnsentBytes = MAX_UNSENT_BYTES;

  // Touched by the loop's thread alone, once registered.
  private ByteBuffer in = ByteBuffer.allocate(READ_BYTES);
  private int maxBodyBytes;
  private @Nullable FrameSeal inSeal;

  // Guarded by this.
  private final Queue<ByteBuffer> unsent = new ArrayDeque<>();
  private int unsentBytes;
  private @Nullable FrameSeal outSeal;
  private @Nullable SelectionKey key;

  /**
   * @param socket is non-blocking, and the channel's from now on
   * @param maxBodyBytes of a frame of the other end
   */
  public ControlChannel(SocketChannel socket, ControlLoop loop, int maxBodyBytes, Owner owner) {
    this.socket = socket;
    this.loop = loop;
    this.maxBodyBytes = maxBodyBytes;
    this.owner = owner;
  }

  /** Ends the connection at that time, as one that does not keep to the protocol; null for never. */
  public void endAt(@Nullable Deadline deadline) {
    end = deadline;
  }

  /** Ends the connection when more than so many bytes wait for the other end to read; 1 MiB unless this is called. */
  public void limitUnsent(int bytes) {
    maxUnsentBytes = bytes;
  }

  @Override
  public void look(SelectionKey looked) {
    Deadline deadline = end;
    if (deadline != null && deadline.expired()) {
      close(new ProtocolException("it takes longer than it may"));
    }
  }

  /** Begins to read. */
  public synchronized void start() throws IOException {
    key = loop.register(socket, SelectionKey.OP_READ, this);
  }

  /**
   * From the next frame of either direction on, there are seals. The thread that reads calls this, or
   * another one before {@link #start}.
   */
  public synchronized void seal(FrameSeal outgoing, FrameSeal incoming, int nextMaxBodyBytes) {
    outSeal = outgoing;
    inSeal = incoming;
    maxBodyBytes = nextMaxBodyBytes;
  }

  /** Sends a frame, or queues what the socket does not take at once. */
  public synchronized void send(ByteBuffer body) {
    if (closed.get()) {
      return;
    }
    ByteBuffer frame = frameOf(body, outSeal);
    try {
      if (unsent.isEmpty()) {
        socket.write(frame);
      }
      if (frame.hasRemaining()) {
        unsent.add(frame);
        unsentBytes += frame.remaining();
        if (unsentBytes > maxUnsentBytes) {
          throw new ProtocolException("the other end does not read");
        }
        awaitWritable(true);
      }
    } catch (IOException e) {
      close(e);
    } catch (CancelledKeyException e) {
      close(new IOException("the control connection was closed", e));
    }
  }

  /** The bytes of a frame with this body, and the next seal unless that is null. */
  public static ByteBuffer frameOf(ByteBuffer body, @Nullable FrameSeal seal) {
    int sealBytes = seal == null ? 0 : FrameSeal.SIZE_BYTES;
    ByteBuffer frame = ByteBuffer.allocate(Integer.BYTES + body.remaining() + sealBytes);
    frame.putInt(body.remaining()).put(body.duplicate());
    if (seal != null) {
      frame.put(seal.next(body));
    }
    return frame.flip();
  }

  private void awaitWritable(boolean wanted) {
    SelectionKey own = key;
    if (own != null) {
      own.interestOps(wanted ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ);
      loop.changed();
    }
  }

  @Override
  public void loopDied(Throwable why) {
    close(new IOException("no control connection is read any more", why));
  }

  @Override
  public void ready(SelectionKey ready) {
    try {
      if (ready.isWritable()) {
        sendMore();
      }
      if (ready.isReadable()) {
        receive();
      }
    } catch (IOException e) {
      close(e);
    } catch (RuntimeException | Error e) { // must not end the thread that reads for all others
      close(new IOException("the control connection could not be served", e));
    }
  }

  private synchronized void sendMore() throws IOException {
    ByteBuffer frame;
    while ((frame = unsent.peek()) != null) {
      unsentBytes -= socket.write(frame);
      if (frame.hasRemaining()) {
        return;
      }
      unsent.remove();
    }
    awaitWritable(false);
  }

  private void receive() throws IOException {
    if (socket.read(in) < 0) {
      throw new IOException("the other end has closed the control connection");
    }
    in.flip();
    while (in.remaining() >= Integer.BYTES) {
      int bodyBytes = in.getInt(in.position());
      if (bodyBytes < 0 || bodyBytes > maxBodyBytes) {
        throw new ProtocolException("a frame of " + bodyBytes + " bytes");
      }
      int sealBytes = inSeal == null ? 0 : FrameSeal.SIZE_BYTES;
      if (in.remaining() < Integer.BYTES + bodyBytes + sealBytes) {
        makeRoomFor(Integer.BYTES + bodyBytes + sealBytes);
        break;
      }
      in.getInt();
      byte[] body = new byte[bodyBytes];
      in.get(body);
      byte[] seal = new byte[sealBytes];
      in.get(seal);
      if (inSeal != null && !inSeal.matchesNext(ByteBuffer.wrap(body), seal)) {
        throw new ProtocolException("the seal of a frame is wrong");
      }
      owner.received(ByteBuffer.wrap(body));
    }
    in.compact();
  }

  private void makeRoomFor(int frameBytes) {
    if (in.capacity() < frameBytes) {
      in = ByteBuffer.allocate(frameBytes).put(in).flip();
    }
  }

  /** Closes the connection, and tells the owner why, unless it has been closed. */
  public void close(IOException why) {
    if (closed.compareAndSet(false, true)) {
      try {
        socket.close(); // cancels the key
      } catch (IOException e) {
        why.addSuppressed(e);
      }
      owner.closed(why);
    }
  }
}
