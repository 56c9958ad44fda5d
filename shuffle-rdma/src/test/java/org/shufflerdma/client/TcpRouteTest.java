/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(90)
class TcpRouteTest {
  private static final int REQUESTS = 20;

  private final FallbackThreads threads = new FallbackThreads();
  private final SilentHost spark = new SilentHost();

  @AfterEach
  void close() {
    threads.close();
  }

  private CollectedBlocks take(String host, int requests) {
    CollectedBlocks collected = new CollectedBlocks(requests);
    IntStream.range(0, requests)
        .forEach(i -> new TcpRoute(spark, host, 7, host, collected, null, threads).take(host + i));
    return collected;
  }

  @Test
  void aSilentHostKeepsNoOthersBlocksWaiting() throws Exception {
    CollectedBlocks silent = take("silent", REQUESTS);
    CollectedBlocks other = take("other", 1).await();
    assertThat(other.failed()).isEmpty();
    other.releaseAll();
    spark.answers.countDown();
    assertThat(silent.await().failed()).isEmpty();
    silent.releaseAll();
  }

  @Test
  void blocksThatWaitForTcpWhenTheExecutorStopsAreFailed() throws Exception {
    CollectedBlocks silent = take("silent", REQUESTS);
    spark.asked.await();
    threads.close();
    assertThat(silent.await().failed()).hasSize(REQUESTS);
    assertThat(take("late", 1).await().failed()).hasSize(1);
  }

  /** Stands for Spark's client, which connects in the calling thread: to one host without end. */
  private static final class SilentHost extends FakeSparkClient {
    final CountDownLatch asked = new CountDownLatch(1);
    final CountDownLatch answers = new CountDownLatch(1);

    @Override
    public void fetchBlocks(
        String host,
        int port,
        String execId,
        String[] blockIds,
        BlockFetchingListener listener,
        DownloadFileManager files) {
      if (host.equals("silent")) {
        asked.countDown();
        try {
          answers.await();
        } catch (InterruptedException e) {
          throw new IllegalStateException("no connection", e);
        }
      }
      super.fetchBlocks(host, port, execId, blockIds, listener, files);
    }
  }
}
