/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.util.kvstore.InMemoryStore;
import org.junit.jupiter.api.Test;
import org.shufflerdma.ui.ExecutorRecord;
import org.shufflerdma.ui.ExecutorRecords;
import org.shufflerdma.ui.ExecutorState;
import org.shufflerdma.ui.ExecutorsReported;

/** What executors report, from an executor's message to the records of the UI. */
class ExecutorWatchTest {
  private static final int EXECUTORS = 1000;
  private static final int RETAINED_DEAD = 100;

  private final InMemoryStore store = new InMemoryStore();
  private final ExecutorWatch watch =
      new ExecutorWatch(ExecutorRecords.of(new SparkConf(false), store));

  private static ExecutorState state(String id, long registeredBytes) {
    ExecutorState state = new ExecutorState();
    state.executorId = id;
    state.host = "host";
    state.device = "mlx5_0";
    state.rail = 1;
    state.connections = 5;
    state.registeredBytes = registeredBytes;
    state.peakRegisteredBytes = 900;
    state.maxRegisteredBytes = 1000;
    return state;
  }

  private static Map<?, ?> wire(ExecutorState state) {
    return (Map<?, ?>) ExecutorReport.toWire(state);
  }

  private void report(ExecutorState... states) {
    ExecutorsReported event = new ExecutorsReported();
    event.executors = List.of(states);
    watch.onOtherEvent(event);
  }

  private void remove(int executor) {
    watch.onExecutorRemoved(
        new SparkListenerExecutorRemoved(0, Integer.toString(executor), "idle"));
  }

  private ExecutorRecord record(String id) throws Exception {
    return store.read(ExecutorRecord.class, id);
  }

  @Test
  void theLastStateIsKept() throws Exception {
    report(state("1", 700), state("2", 10));
    report(state("1", 300));
    assertThat(record("1").state.registeredBytes).isEqualTo(300);
    assertThat(record("2").state.registeredBytes).isEqualTo(10);
  }

  @Test
  void ofAThousandExecutorsThoseStayThatAreThereAndTheLastThatWent() throws Exception {
    for (int i = 0; i < EXECUTORS; i++) {
      report(state(Integer.toString(i), i));
    }
    assertThat(store.count(ExecutorRecord.class)).isEqualTo(EXECUTORS);
    int gone = 900;
    for (int i = 0; i < gone; i++) {
      remove(i);
      remove(i);
    }
    assertThat(store.count(ExecutorRecord.class)).isEqualTo(EXECUTORS - gone + RETAINED_DEAD);
    report(state("0", 1), state("899", 2));
    assertThat(store.count(ExecutorRecord.class)).isEqualTo(EXECUTORS - gone + RETAINED_DEAD);
    assertThat(record("899").removed).isTrue();
    assertThat(record("899").state.registeredBytes).isEqualTo(2);
    assertThat(record("900").removed).isFalse();
  }

  /** Its report is held back for two seconds. */
  @Test
  void anExecutorThatHasGoneBeforeItsFirstReportIsNotShown() throws Exception {
    remove(5);
    report(state("5", 1), state("6", 1));
    assertThat(store.count(ExecutorRecord.class)).isEqualTo(1);
    assertThat(record("6").removed).isFalse();
  }

  @Test
  void aReportComesBackAsSent() {
    ExecutorState sent = state("7", 12);
    assertThat(ExecutorReport.is(wire(sent))).isTrue();
    assertThat(ExecutorReport.ofWire(wire(sent))).usingRecursiveComparison().isEqualTo(sent);
    sent.device = null;
    sent.withoutRdma = "no device";
    assertThat(ExecutorReport.ofWire(wire(sent))).usingRecursiveComparison().isEqualTo(sent);
  }

  @Test
  void anythingElseIsRefused() {
    assertThat(ExecutorReport.is(Map.of("host", "a"))).isFalse();
    for (Object[] forged : new Object[][] {
      {"connections", "5"}, {"connections", -1L}, {"registeredBytes", null}, {"device", 7L}
    }) {
      Map<Object, Object> wire = new HashMap<>(wire(state("1", 1)));
      wire.put(forged[0], forged[1]);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ExecutorReport.ofWire(wire))
          .withMessageContaining((String) forged[0]);
    }
  }

  @Test
  void reportsOfAMomentArePassedOnTogetherTheLastOfEach() throws Exception {
    BlockingQueue<List<ExecutorState>> passed = new LinkedBlockingQueue<>();
    try (ExecutorReports reports = new ExecutorReports(passed::add, 50)) {
      int most = 0;
      List<ExecutorState> all = new ArrayList<>();
      for (int round = 0; round < 2; round++) {
        for (int i = 0; i < EXECUTORS; i++) {
          reports.received(wire(state(Integer.toString(i), round)));
        }
      }
      reports.received(Map.of("shuffle-rdma/executor", 4711));
      while (all.stream().filter(state -> state.registeredBytes == 1).count() < EXECUTORS) {
        List<ExecutorState> next = passed.poll(10, TimeUnit.SECONDS);
        assertThat(next).isNotNull().extracting(state -> state.executorId).doesNotHaveDuplicates();
        most = Math.max(most, next.size());
        all.addAll(next);
      }
      assertThat(most).isGreaterThan(1);
    }
  }

  @Test
  void littleMemoryMoreOrLessIsNoChange() {
    assertThat(StateReporter.hasChanged(null, state("1", 0))).isTrue();
    assertThat(StateReporter.hasChanged(state("1", 0), state("1", 10))).isFalse();
    assertThat(StateReporter.hasChanged(state("1", 0), state("1", 11))).isTrue();
    ExecutorState between = state("1", 0);
    between.peakRegisteredBytes += 11;
    assertThat(StateReporter.hasChanged(state("1", 0), between)).isTrue();
    ExecutorState connected = state("1", 0);
    connected.connections++;
    assertThat(StateReporter.hasChanged(state("1", 0), connected)).isTrue();
  }
}
