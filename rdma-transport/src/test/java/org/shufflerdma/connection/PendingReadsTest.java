/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.verbs.WcStatus;

class PendingReadsTest {
  private final PendingReads pending = new PendingReads();
  private RdmaTransport transport;
  private RdmaTransport owner;
  private Connection connection;
  private RegisteredBuffer sink;

  @BeforeEach
  void open() throws Exception {
    owner = TestTransports.open("owner");
    transport = TestTransports.open("reader");
    connection = TestTransports.connect(transport, TestTransports.peerOf("owner", owner));
    sink = transport.buffers().acquire(1, Deadline.afterMs(0));
  }

  @AfterEach
  void close() {
    if (sink != null) { // null if it did not connect
      sink.release();
    }
    transport.close();
    owner.close();
  }

  private PostedList list() {
    return new PostedList(connection, sink, new AwaitedCompletion(), 1, 1, ReadsOf.FILES);
  }

  @Test
  void eachReadOfAListLeadsToIt() {
    PostedList list = list();
    long first = pending.add(list);
    for (int i = 0; i < 256; i++) {
      long wrId = PendingReads.wrId(first, i);
      assertThat(PendingReads.index(wrId)).isEqualTo(i);
      assertThat(PendingReads.firstWrId(wrId)).isEqualTo(first);
      assertThat(pending.find(wrId)).isSameAs(list);
    }
  }

  @Test
  void aLateCompletionOfAnEndedListFindsNothing() {
    long first = pending.add(list());
    assertThat(pending.remove(first)).isTrue();
    assertThat(pending.remove(first)).isFalse();
    long second = pending.add(list());
    assertThat(second).isNotEqualTo(first);
    assertThat(pending.find(first)).isNull();
    assertThat(pending.find(-1)).isNull();
    assertThat(pending.remove(first)).isFalse();
    assertThat(pending.remove(second)).isTrue();
  }

  @Test
  void aFlushedReadIsHeldAgainstTheConnectionAndNotAgainstThePeersFiles() throws Exception {
    PeerState peer = connection.state();
    connection.completed(pending.add(list()), list(), WcStatus.WR_FLUSH_ERR, 0);
    assertThat(connection.isOpen()).isFalse();
    Await.until(() -> peer.lastFailure() != null);
    peer.succeeded(ReadsOf.STAGED, 1);
    peer.failed(PeerFailure.TIMEOUT);
    assertThat(peer.failed(PeerFailure.TIMEOUT)).as("the third in a row").isFalse();
  }

  @Test
  void thousandsMayBePending() {
    List<PostedList> lists = new ArrayList<>();
    List<Long> wrIds = new ArrayList<>();
    for (int i = 0; i < 5_000; i++) {
      lists.add(list());
      wrIds.add(pending.add(lists.get(i)));
    }
    Set<Long> distinct = new HashSet<>(wrIds);
    assertThat(distinct).hasSize(5_000);
    for (int i = 0; i < 5_000; i++) {
      assertThat(pending.find(wrIds.get(i))).isSameAs(lists.get(i));
      assertThat(pending.remove(wrIds.get(i))).isTrue();
    }
  }
}
