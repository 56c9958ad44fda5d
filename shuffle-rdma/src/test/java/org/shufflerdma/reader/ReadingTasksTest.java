/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.junit.jupiter.api.Test;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import scala.Option;

class ReadingTasksTest {
  private final List<ReadCounters> told = new ArrayList<>();
  private final ReadingTasks tasks = new ReadingTasks(told::add);

  private static TaskContextImpl task() {
    return TaskContext$.MODULE$.empty();
  }

  private ShuffleReadMetricsReporter reader(TaskContextImpl task) {
    tasks.of(task);
    return task.taskMetrics().createTempShuffleReadMetrics();
  }

  private static void read(ShuffleReadMetricsReporter reader, long remoteBytes) {
    reader.incRemoteBytesRead(remoteBytes);
    reader.incRemoteBlocksFetched(1);
  }

  @Test
  void whatAllReadersOfATaskHaveCountedIsToldOnceAtItsEnd() {
    TaskContextImpl task = task();
    read(reader(task), 100);
    tasks.of(task).counters().add(Counter.RDMA_BYTES, 100);
    tasks.of(task).counters().add(Counter.RDMA_BLOCKS, 1);
    read(reader(task), 20);
    assertThat(told).isEmpty();
    task.markTaskCompleted(Option.empty());
    assertThat(told).singleElement().satisfies(counts -> {
      assertThat(counts.get(Counter.TCP_BYTES)).isEqualTo(20);
      assertThat(counts.get(Counter.TCP_BLOCKS)).isEqualTo(1);
      assertThat(counts.get(Counter.RDMA_BYTES)).isEqualTo(100);
    });
    assertThat(task.taskMetrics().shuffleReadMetrics().remoteBytesRead()).isEqualTo(120);
  }

  @Test
  void aTaskThatFailsIsToldWithWhatItsReadersGiveBackAtItsEnd() {
    TaskContextImpl task = task();
    for (int i = 0; i < 3; i++) {
      ShuffleReadMetricsReporter reader = reader(task);
      task.addTaskCompletionListener(ended -> {
        read(reader, 7);
      });
    }
    task.markTaskCompleted(Option.apply(new IOException("of a test")));
    assertThat(told)
        .singleElement()
        .satisfies(counts -> assertThat(counts.get(Counter.TCP_BYTES)).isEqualTo(21));
    assertThat(task.taskMetrics().shuffleReadMetrics().remoteBytesRead()).isEqualTo(21);
  }

  @Test
  void eachTaskIsToldByItself() {
    TaskContextImpl first = task();
    TaskContextImpl second = task();
    read(reader(first), 1);
    read(reader(second), 2);
    second.markTaskCompleted(Option.empty());
    first.markTaskCompleted(Option.empty());
    assertThat(told).extracting(counts -> counts.get(Counter.TCP_BYTES)).containsExactly(2L, 1L);
  }

  /** A thread that feeds a task's child process may open one more reader when the task is over. */
  @Test
  void aReaderThatIsOpenedAfterTheEndTellsNothingMore() {
    TaskContextImpl task = task();
    read(reader(task), 1);
    task.markTaskCompleted(Option.empty());
    read(reader(task), 2);
    assertThat(told).extracting(counts -> counts.get(Counter.TCP_BYTES)).containsExactly(1L, 0L);
  }

  @Test
  void whatAReaderHasOpenIsClosedOnceByTheReaderOrByTheEndOfTheTask() {
    TaskContextImpl task = task();
    TaskReads reads = tasks.of(task);
    List<String> closed = new ArrayList<>();
    AutoCloseable first = reads.open().keep(() -> closed.add("first"));
    reads.open().keep(() -> closed.add("second"));
    reads.use(4, id -> () -> closed.add("the only use of shuffle " + id));
    reads.use(4, id -> () -> closed.add("another use of shuffle " + id));
    reads.open().giveBack(first);
    assertThat(closed).containsExactly("first");
    task.markTaskCompleted(Option.empty());
    reads.open().keep(() -> closed.add("late"));
    assertThat(closed).containsExactly("first", "the only use of shuffle 4", "second", "late");
  }

  /** Or else a task with very many readers would sum up the figures of all of them for each. */
  @Test
  void theFiguresOfReadersAreSummedUpLessOftenTheMoreThereAre() {
    TaskContextImpl task = task();
    List<Long> sums = new ArrayList<>();
    for (int i = 0; i < 9; i++) {
      read(reader(task), 1);
      tasks.of(task).exhausted();
      sums.add(task.taskMetrics().shuffleReadMetrics().remoteBytesRead());
    }
    assertThat(sums).containsExactly(1L, 2L, 2L, 4L, 4L, 4L, 4L, 8L, 8L);
    task.markTaskCompleted(Option.empty());
    assertThat(task.taskMetrics().shuffleReadMetrics().remoteBytesRead()).isEqualTo(9);
  }

  @Test
  void aReaderOfATaskThatIsOverMeetsNoFailureOfAFetch() {
    IOException met = new IOException("of a connection");
    TaskContextImpl running = task();
    tasks.of(running).requireRunning(met);
    TaskContextImpl failed = task();
    failed.markTaskFailed(new IllegalArgumentException("of the user"));
    assertThatThrownBy(() -> tasks.of(failed).requireRunning(met))
        .isInstanceOf(IllegalStateException.class)
        .hasCause(met);
    TaskContextImpl killed = task();
    killed.markInterrupted("another attempt succeeded");
    assertThatThrownBy(() -> tasks.of(killed).requireRunning(met))
        .isInstanceOf(TaskKilledException.class);
  }
}
