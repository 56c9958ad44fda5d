/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.util.kvstore.InMemoryStore;
import org.apache.spark.util.kvstore.KVStoreSerializer;
import org.junit.jupiter.api.Test;
import org.shufflerdma.metrics.Counter;

class ExecutorsViewTest {
  private static final int MAX_PAGE_CHARS = 200_000;

  private static ExecutorRecord record(String id) {
    ExecutorRecord record = new ExecutorRecord();
    record.id = id;
    record.tasks = 3;
    record.counts =
        Map.of(Counter.RDMA_BYTES.publicName(), 900L, Counter.TCP_BYTES.publicName(), 100L);
    record.state.executorId = id;
    record.state.host = "host" + id;
    record.state.device = "mlx5_0";
    record.state.rail = 2;
    record.state.connections = 17;
    record.state.registeredBytes = 1 << 30;
    record.state.maxRegisteredBytes = 4L << 30;
    record.state.peakRegisteredBytes = 2L << 30;
    return record;
  }

  private static List<ExecutorRecord> records(int executors) {
    return IntStream.range(0, executors)
        .mapToObj(i -> record(Integer.toString(i)))
        .toList();
  }

  private static String html(List<ExecutorRecord> records, int page) {
    Html html = new Html();
    new ExecutorsView(records, page).write(html);
    return html.toString();
  }

  @Test
  void anExecutorHasItsDeviceItsMemoryAndItsWays() {
    assertThat(html(records(1), 1))
        .contains(
            "<td>0</td><td>host0</td><td>mlx5_0 (rail 2)</td>",
            ">17</td>",
            "25 % of the budget",
            "</svg> 1.0 GiB</td>",
            ">2.0 GiB</td>",
            ">4.0 GiB</td>",
            "<title>registered 90 %, TCP 10 %</title>");
  }

  @Test
  void whatIsNotKnownIsEmptyAndWhyThereIsNoRdmaIsSaid() {
    ExecutorRecord unknown = record("1");
    unknown.state = new ExecutorState();
    unknown.removed = true;
    assertThat(html(List.of(unknown), 1)).contains("<td>1 (removed)</td><td></td><td></td>");
    unknown.state.withoutRdma = "<no device>";
    assertThat(html(List.of(unknown), 1)).contains("no RDMA: &lt;no device&gt;");
  }

  @Test
  void eachExecutorOfAThousandIsOnOnePageInTheirOrderAndNoPageIsLarge() {
    int rows = 0;
    for (int page = 1; page <= 10; page++) {
      String html = html(records(1000), page);
      assertThat(html.length()).isLessThan(MAX_PAGE_CHARS);
      assertThat(html).contains("Page " + page + " of 10", "#" + ExecutorsView.ANCHOR);
      assertThat(html).contains("<td>" + (page * 100 - 1) + "</td>");
      rows += html.split("<tr><td>", -1).length - 1;
    }
    assertThat(rows).isEqualTo(1000);
    assertThat(html(records(1000), 99)).isEqualTo(html(records(1000), 10));
  }

  @Test
  void theStoreKeepsThoseThatAreThereAndTheLastOfThoseThatHaveGone() throws Exception {
    InMemoryStore store = new InMemoryStore();
    ExecutorRecords records =
        ExecutorRecords.of(new SparkConf(false).set("spark.ui.retainedDeadExecutors", "2"), store);
    records(6).forEach(records::write);
    assertThat(records.removed("4")).isNull();
    assertThat(records.removed("0")).isNull();
    assertThat(records.removed("1")).isEqualTo("4");
    assertThat(store.view(ExecutorRecord.class))
        .extracting(record -> record.id)
        .containsExactly("0", "1", "2", "3", "5");
  }

  @Test
  void aRecordSurvivesTheDiskOfAHistoryServer() throws Exception {
    KVStoreSerializer serializer = new KVStoreSerializer();
    ExecutorRecord written = record("7");
    ExecutorRecord read =
        serializer.deserialize(serializer.serialize(written), ExecutorRecord.class);
    assertThat(read).usingRecursiveComparison().isEqualTo(written);
  }
}
