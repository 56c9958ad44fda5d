/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.LoopThread;
import org.shufflerdma.metrics.LogThrottle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that accepts and reads all control connections of a process. Any thread may call; who
 * opened it closes it.
 */
public final class ControlLoop {
  private static final Logger LOG = LoggerFactory.getLogger(ControlLoop.class);
  private static final int LOOK_MS = 250;

  /** Whose channel it is. The loop's thread calls, which must not be blocked, and logs what is thrown. */
  public interface Member {
    /** The channel is ready. */
    void ready(SelectionKey key);

    /** Called every 250 ms, for what has taken too long. */
    void look(SelectionKey key);

    /** The thread has died, so nothing is read any more. */
    void loopDied(Throwable why);
  }

  private final Selector selector;
  private final LoopThread thread;
  private final LogThrottle failures = new LogThrottle();
  private Deadline nextLook = Deadline.afterMs(LOOK_MS); // touched by the loop's thread alone

  private ControlLoop(Selector selector, String name) {
    this.selector = selector;
    this.thread = new LoopThread(name, this::turn);
  }

  /** Starts the thread. */
  public static ControlLoop open(String name) throws IOException {
    return open(name, why -> {});
  }

  /** Starts the thread; {@code whenDead} is told if it dies, after the members. */
  public static ControlLoop open(String name, Consumer<Throwable> whenDead) throws IOException {
    ControlLoop loop = new ControlLoop(Selector.open(), name);
    try {
      loop.thread.start(why -> {
        loop.tellMembers(why);
        whenDead.accept(why);
      });
      return loop;
    } catch (Throwable t) {
      loop.selector.close();
      throw t;
    }
  }

  /** Tells the member from now on when its non-blocking channel is ready for one of the operations. */
  public SelectionKey register(SelectableChannel channel, int operations, Member member)
      throws ClosedChannelException {
    SelectionKey key = channel.register(selector, operations, member);
    selector.wakeup();
    return key;
  }

  public boolean isAlive() {
    return thread.isAlive();
  }

  /** The operations that a key waits for have changed. */
  public void changed() {
    selector.wakeup();
  }

  private void turn() throws IOException {
    selector.select(key -> tell(key, Member::ready), LOOK_MS);
    if (nextLook.expired()) {
      nextLook = Deadline.afterMs(LOOK_MS);
      selector.keys().forEach(key -> tell(key, Member::look));
    }
  }

  /** What one member throws must not end the thread that serves all others. */
  private void tell(SelectionKey key, BiConsumer<Member, SelectionKey> event) {
    try {
      event.accept((Member) key.attachment(), key);
    } catch (Throwable t) {
      if (failures.tryLog() >= 0) {
        LOG.error("A member of the control loop failed, and the loop goes on", t);
      }
    }
  }

  private void tellMembers(Throwable why) {
    selector.keys().forEach(key -> tell(key, (member, unused) -> member.loopDied(why)));
  }

  /** Ends the thread, which must not call. The channels are their owners'. */
  public void close() throws IOException, InterruptedException {
    selector.wakeup();
    try {
      thread.stop();
    } catch (InterruptedException e) { // after the end of the thread
      selector.close();
      throw e;
    }
    selector.close();
  }
}
