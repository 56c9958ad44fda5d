/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.LoopThread;

/**
 * The one thread that accepts and reads all control connections of a process. Any thread may call; who
 * opened it closes it.
 */
public final class ControlLoop {
  private static final int WAIT_MS = 1_000;

  /** Whose channel it is. */
  public interface Member {
    /** The channel is ready. Runs in the loop's thread, and must not block. */
    void ready(SelectionKey key);

    /** The thread has died, so nothing is read any more. */
    void loopDied(Throwable why);
  }

  private final Selector selector;
  private final LoopThread thread;

  private ControlLoop(Selector selector, String name) {
    this.selector = selector;
    this.thread = new LoopThread(name, this::turn);
  }

  /** Starts the thread. */
  public static ControlLoop open(String name) throws IOException {
    ControlLoop loop = new ControlLoop(Selector.open(), name);
    loop.thread.start(loop::tellMembers);
    return loop;
  }

  /** Tells the member from now on when its non-blocking channel is ready for one of the operations. */
  public SelectionKey register(SelectableChannel channel, int operations, Member member)
      throws ClosedChannelException {
    SelectionKey key = channel.register(selector, operations, member);
    selector.wakeup();
    return key;
  }

  public @Nullable SelectionKey keyOf(SelectableChannel channel) {
    return channel.keyFor(selector);
  }

  public boolean isAlive() {
    return thread.isAlive();
  }

  /** The operations that a key waits for have changed. */
  public void changed() {
    selector.wakeup();
  }

  private void turn() throws IOException {
    selector.select(key -> ((Member) key.attachment()).ready(key), WAIT_MS);
  }

  private void tellMembers(Throwable why) {
    selector.keys().forEach(key -> ((Member) key.attachment()).loopDied(why));
  }

  /** Ends the thread, which must not call. The channels are their owners'. */
  public void close() throws IOException, InterruptedException {
    selector.wakeup();
    thread.stop();
    selector.close();
  }
}
