/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.util.kvstore.InMemoryStore;
import org.apache.spark.util.kvstore.KVStoreSerializer;
import org.junit.jupiter.api.Test;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TcpReason;

class StagesViewTest {
  private static final int MAX_PAGE_CHARS = 200_000;

  private static StageRecord record(int stageId, Map<String, Long> counts) {
    StageRecord record = new StageRecord();
    record.id = StageRecord.idOf(stageId, 0);
    record.stageId = stageId;
    record.name = "count at Job.scala:" + stageId;
    record.counts = counts;
    return record;
  }

  private static StageRecord mixed(int stageId) {
    return record(
        stageId,
        Map.of(
            Counter.RDMA_BYTES.publicName(), 900L,
            Counter.STAGED_BYTES.publicName(), 500L,
            Counter.NODE_SERVICE_BYTES.publicName(), 200L,
            Counter.TCP_BYTES.publicName(), 100L,
            Counter.TCP_BLOCKS.publicName(), 3L,
            TcpReason.CHECKSUM.publicName(), 1L,
            TcpReason.NO_LOCATION.publicName(), 2L,
            TaskTime.READ.publicName(), 1_500L,
            TaskTime.POOL.publicName(), 2_000_000L));
  }

  private static List<StageRecord> newestFirst(int stages) {
    List<StageRecord> records =
        IntStream.range(0, stages).mapToObj(StagesViewTest::mixed).collect(Collectors.toList());
    Collections.reverse(records);
    return records;
  }

  private static String html(List<StageRecord> records, int page) {
    Html html = new Html();
    new StagesView(records, page).write(html);
    return html.toString();
  }

  @Test
  void theWaysAddUpToTheRemoteBytes() {
    StageRecord record = mixed(1);
    assertThat(new Ways(record::count).total()).isEqualTo(1000);
    assertThat(Way.REGISTERED.bytes(record::count)).isEqualTo(400);
    assertThat(Way.STAGED.bytes(record::count)).isEqualTo(300);
    assertThat(Way.NODE_SERVICE.bytes(record::count)).isEqualTo(200);
    assertThat(Way.TCP.bytes(record::count)).isEqualTo(100);
  }

  @Test
  void reasonsAndTimesComeLargestFirst() {
    assertThat(html(newestFirst(1), 1))
        .contains("3: no-location 2, checksum 1", "2.0 s: pool 2.0 s, read 1.5 ms")
        .contains("<title>registered 40 %, staged 30 %, node service 20 %, TCP 10 %</title>");
  }

  @Test
  void eachStageOfManyIsOnOnePageAndNoPageIsLarge() {
    List<StageRecord> records = newestFirst(1000);
    int rows = 0;
    for (int page = 1; page <= 10; page++) {
      String html = html(records, page);
      assertThat(html.length()).isLessThan(MAX_PAGE_CHARS);
      assertThat(html).contains("Page " + page + " of 10");
      rows += html.split("\\.\\./stages/stage/", -1).length - 1;
    }
    assertThat(rows).isEqualTo(1000);
    assertThat(html(records, 1)).contains(">999</a>").doesNotContain(">899</a>");
  }

  @Test
  void aPageThatThereIsNotIsTheNearestOne() {
    List<StageRecord> records = newestFirst(150);
    assertThat(html(records, 99)).isEqualTo(html(records, 2));
    assertThat(html(records, -3)).isEqualTo(html(records, 1));
    assertThat(html(List.of(), 1)).contains("No stage has read");
  }

  @Test
  void namesAndVerdictsAreText() {
    StageRecord record = mixed(1);
    record.name = "<script>alert('1')</script>";
    record.verdict = "<b>\"&";
    assertThat(html(List.of(record), 1))
        .contains("&lt;script&gt;alert(&#39;1&#39;)", "&lt;b&gt;&quot;&amp;")
        .doesNotContain("<script", "<b>");
  }

  @Test
  void theStoreKeepsTheNewestRecords() throws Exception {
    InMemoryStore store = new InMemoryStore();
    StageRecords records =
        StageRecords.of(new SparkConf(false).set("spark.ui.retainedStages", "3"), store);
    for (int stage : new int[] {0, 1, 2, 1, 3, 4}) {
      records.write(mixed(stage));
    }
    assertThat(store.view(StageRecord.class))
        .extracting(record -> record.stageId)
        .containsExactly(2, 3, 4);
  }

  @Test
  void aRecordSurvivesTheDiskOfAHistoryServer() throws Exception {
    KVStoreSerializer serializer = new KVStoreSerializer();
    StageRecord written = mixed(7);
    written.verdict = "all is well";
    StageRecord read = serializer.deserialize(serializer.serialize(written), StageRecord.class);
    assertThat(read).usingRecursiveComparison().isEqualTo(written);
  }
}
