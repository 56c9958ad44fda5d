/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.junit.jupiter.api.Test;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import scala.Option;

class CountedTasksTest {
  private final List<ReadCounters> told = new ArrayList<>();
  private final CountedTasks tasks = new CountedTasks(told::add);

  private static TaskContextImpl task() {
    return TaskContext$.MODULE$.empty();
  }

  private ShuffleReadMetricsReporter reader(TaskContextImpl task) {
    return tasks.counted(task, task.taskMetrics().createTempShuffleReadMetrics());
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
}
