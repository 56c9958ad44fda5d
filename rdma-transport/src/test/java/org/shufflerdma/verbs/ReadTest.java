/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.shufflerdma.verbs.Loopback.TIMEOUT_MS;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class ReadTest {
  private static final int BLOCK = 4096;
  private static final int BLOCKS = 32;

  @TempDir
  Path directory;

  @Test
  void aBatchReadsAMappedFileWithOneSignalledRequest() throws Exception {
    byte[] content = new byte[BLOCK * BLOCKS];
    new Random(7).nextBytes(content);
    Path file = Files.write(directory.resolve("data"), content);
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connect();
      MappedFile mapped = loopback.own(MappedFile.open(file));
      MemoryRegion source = loopback.own(
          pair.responder().domain.register(mapped, 0, mapped.size(), Access.REMOTE_READ));
      NativeMemory memory = loopback.own(NativeMemory.allocate(content.length, true));
      MemoryRegion sink = loopback.own(
          pair.initiator().domain.register(memory.address(), memory.size(), Access.LOCAL_WRITE));
      SoftCounters before = TestDevice.isSoft() ? loopback.verbs.softCounters() : null;
      ReadBatch batch = new ReadBatch(BLOCKS);
      for (int i = 0; i < BLOCKS; i++) {
        long offset = (long) i * BLOCK;
        batch.add(
            100 + i,
            sink.address() + offset,
            sink.lkey(),
            BLOCK,
            source.address() + offset,
            source.rkey(),
            i == BLOCKS - 1);
      }
      assertThatIllegalStateException().isThrownBy(() -> batch.add(0, 0, 0, 1, 0, 0, true));
      assertThat(pair.initiator().pair.postReads(batch)).isEqualTo(BLOCKS);

      CompletionBatch completions = pair.initiator().awaitCompletion();
      assertThat(completions.size()).isEqualTo(1);
      assertThat(WcStatus.text(completions.status(0))).startsWith("IBV_WC_SUCCESS");
      assertThat(completions.wrId(0)).isEqualTo(100 + BLOCKS - 1);
      assertThat(completions.qpNum(0)).isEqualTo(pair.initiator().pair.number());
      byte[] read = new byte[content.length];
      memory.slice(0, read.length).get(read);
      assertThat(read).isEqualTo(content);
      if (before != null) {
        SoftCounters after = loopback.verbs.softCounters();
        assertThat(after.sendWrPosted() - before.sendWrPosted()).isEqualTo(BLOCKS);
        assertThat(after.sendWrSignalled() - before.sendWrSignalled()).isEqualTo(1);
        assertThat(TestDevice.readBytes(after) - TestDevice.readBytes(before))
            .isEqualTo(content.length);
      }
    }
  }

  @Test
  void aRefusedRequestTellsHowManyWerePosted() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connect(new QueuePairCapabilities(8, 1, 1, 1, 0));
      int depth = pair.initiator().pair.capabilities().maxSendWr();
      Regions regions = Regions.of(loopback, pair);
      int wanted = 4 * depth;
      ReadBatch batch = new ReadBatch(wanted);
      for (int i = 0; i < wanted; i++) {
        regions.add(batch, i, regions.source.rkey(), true);
      }
      VerbsException refused =
          catchThrowableOfType(VerbsException.class, () -> pair.initiator().pair.postReads(batch));
      int posted = refused.posted();
      assertThat(posted).isBetween(depth, TestDevice.isSoft() ? depth : wanted - 1);
      assertThat(refused.errno()).isEqualTo(Errno.ENOMEM);
      assertThat(refused).hasMessageContaining("after " + posted + " of " + wanted);
      int completed = 0;
      while (completed < posted) {
        completed += pair.initiator().awaitCompletion().size();
      }
      assertThat(completed).isEqualTo(posted);
    }
  }

  @Test
  void readWithWrongRkeyFailsThatRequestAndFlushesTheRest() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connect();
      Regions regions = Regions.of(loopback, pair);
      ReadBatch batch = new ReadBatch(3);
      regions.add(batch, 1, regions.source.rkey(), true);
      regions.add(batch, 2, regions.source.rkey() ^ 0x55, true);
      regions.add(batch, 3, regions.source.rkey(), true);
      pair.initiator().pair.postReads(batch);
      int[] statusOf = new int[4];
      for (int seen = 0; seen < 3; ) {
        CompletionBatch completions = pair.initiator().awaitCompletion();
        for (int i = 0; i < completions.size(); i++) {
          assertThat(completions.qpNum(i)).isEqualTo(pair.initiator().pair.number());
          statusOf[(int) completions.wrId(i)] = completions.status(i);
        }
        seen += completions.size();
      }
      assertThat(statusOf)
          .containsExactly(0, WcStatus.SUCCESS, WcStatus.REM_ACCESS_ERR, WcStatus.WR_FLUSH_ERR);
      assertThat(pair.initiator().pair.attributes().state()).isEqualTo(QueuePairState.ERR);
      if (TestDevice.isSoft()) { // The kernel's rxe tells its responder nothing.
        assertAccessError(context(loopback).pollAsyncEvent(TIMEOUT_MS), pair.responder().pair);
      }
    }
  }

  private static void assertAccessError(@Nullable AsyncEvent event, QueuePair responder) {
    assertThat(event).isNotNull();
    assertThat(event.type()).isEqualTo(AsyncEvent.QP_ACCESS_ERR);
    assertThat(event.element()).isEqualTo(responder.number());
    assertThat(event.text()).isNotBlank();
  }

  @Test
  void anArmedQueueAnnouncesTheNextCompletion() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connect();
      Regions regions = Regions.of(loopback, pair);
      Loopback.Side initiator = pair.initiator();
      assertThat(initiator.queue.capacity()).isGreaterThanOrEqualTo(256);
      assertThat(initiator.channel.await(1)).isFalse();
      initiator.queue.requestNotify(false);
      ReadBatch batch = new ReadBatch(1);
      regions.add(batch, 9, regions.source.rkey(), true);
      initiator.pair.postReads(batch);
      assertThat(initiator.channel.await(TIMEOUT_MS)).isTrue();
      assertThat(initiator.awaitCompletion().wrId(0)).isEqualTo(9);
    }
  }

  @Test
  void aQueueThatGrowsKeepsItsCompletions() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connect();
      Regions regions = Regions.of(loopback, pair);
      Loopback.Side initiator = pair.initiator();
      ReadBatch batch = new ReadBatch(1);
      regions.add(batch, 7, regions.source.rkey(), true);
      initiator.pair.postReads(batch);
      int before = initiator.queue.capacity();
      initiator.queue.resize(4 * before);
      assertThat(initiator.queue.capacity()).isGreaterThanOrEqualTo(4 * before);
      assertThat(initiator.awaitCompletion().wrId(0)).isEqualTo(7);
      assertThatThrownBy(() -> initiator.queue.resize(0)).isInstanceOf(VerbsException.class);
    }
  }

  @Test
  void anEmptyBatchPostsNothing() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      assertThat(loopback.connect().initiator().pair.postReads(new ReadBatch(1)))
          .isZero();
    }
  }

  @Test
  void toErrorFlushesAndShowsInTheState() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      QueuePair pair = loopback.connect().initiator().pair;
      pair.toError();
      assertThat(pair.attributes().state()).isEqualTo(QueuePairState.ERR);
    }
  }

  private static DeviceContext context(Loopback loopback) throws VerbsException {
    DeviceContext context = loopback.client.context();
    assertThat(context).isNotNull();
    return context;
  }

  /** One block to read and one to read it into. */
  private record Regions(MemoryRegion source, MemoryRegion sink) {
    static Regions of(Loopback loopback, Loopback.Pair pair) throws VerbsException {
      NativeMemory from = loopback.own(NativeMemory.allocate(BLOCK, false));
      NativeMemory to = loopback.own(NativeMemory.allocate(BLOCK, false));
      return new Regions(
          loopback.own(pair.responder().domain.register(from.address(), BLOCK, Access.REMOTE_READ)),
          loopback.own(pair.initiator().domain.register(to.address(), BLOCK, Access.LOCAL_WRITE)));
    }

    void add(ReadBatch batch, long wrId, int rkey, boolean signaled) {
      batch.add(wrId, sink.address(), sink.lkey(), BLOCK, source.address(), rkey, signaled);
    }
  }
}
