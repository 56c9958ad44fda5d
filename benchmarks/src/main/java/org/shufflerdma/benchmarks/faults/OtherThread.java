/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a task that a thread of its own reads, as the one that feeds {@code pipe()} does. The thread ends
 * with the last row or with the task, and the task's thread takes the rows.
 */
final class OtherThread<T> implements Iterator<T> {
  private static final int ROWS_AHEAD = 64;
  private static final int LOOK_MS = 100;

  /** @param row null at the end of the rows */
  private record Taken<T>(@Nullable T row, @Nullable Throwable failure) {}

  private final BlockingQueue<Taken<T>> taken = new ArrayBlockingQueue<>(ROWS_AHEAD);
  private final TaskContext task;
  private @Nullable Taken<T> next;

  OtherThread(Iterator<T> rows, TaskContext task) {
    this.task = task;
    Thread thread = new Thread(() -> readAll(rows), "reader of task " + task.taskAttemptId());
    thread.setDaemon(true);
    thread.start();
  }

  private void readAll(Iterator<T> rows) {
    TaskContext$.MODULE$.setTaskContext(task);
    try {
      while (rows.hasNext()) {
        give(new Taken<>(rows.next(), null));
      }
      give(new Taken<>(null, null));
    } catch (Throwable t) {
      give(new Taken<>(null, t));
    }
  }

  private void give(Taken<T> row) {
    try {
      while (!task.isCompleted() && !taken.offer(row, LOOK_MS, TimeUnit.MILLISECONDS)) {}
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Waits for the next row, which stays until it is taken. */
  private Taken<T> look() {
    try {
      Taken<T> row = next;
      while (row == null) {
        task.killTaskIfInterrupted();
        row = taken.poll(LOOK_MS, TimeUnit.MILLISECONDS);
      }
      next = row;
      if (row.failure != null) {
        throw thrown(row.failure);
      }
      return row;
    } catch (InterruptedException e) {
      throw thrown(e);
    }
  }

  /** Spark must see the failure as it is. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException thrown(Throwable failure) throws E {
    throw (E) failure;
  }

  @Override
  public boolean hasNext() {
    return look().row != null;
  }

  @Override
  public T next() {
    T row = look().row;
    if (row == null) {
      throw new NoSuchElementException();
    }
    next = null;
    return row;
  }
}
