/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.shufflerdma.verbs.Loopback.TIMEOUT_MS;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvQPInitAttr;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.RdmaCm;
import com.ibm.disni.verbs.RdmaCmEvent;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaConnParam;
import com.ibm.disni.verbs.RdmaEventChannel;
import com.ibm.disni.verbs.RdmaVerbs;
import com.ibm.disni.verbs.impl.NatObject;
import com.ibm.disni.verbs.impl.NativeDispatcher;
import com.ibm.disni.verbs.impl.RdmaVerbsNat;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.LinkedList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A program written to DiSNI's API, which reaches all of its 48 natives. */
@Timeout(60)
final class DisniApiTest {
  private static final int ACCESS =
      IbvMr.IBV_ACCESS_LOCAL_WRITE | IbvMr.IBV_ACCESS_REMOTE_READ | IbvMr.IBV_ACCESS_REMOTE_WRITE;
  private static final int IBV_QP_STATE = 1;
  private static final short NO_PORT_SPACE = 0x0777;

  @BeforeAll
  static void openTheDevice() throws Exception {
    TestDevice.open();
  }

  @Test
  void theDispatcherHasAllFortyEightNatives() {
    assertThat(NativeDispatcher.class.getDeclaredMethods())
        .filteredOn(method -> Modifier.isNative(method.getModifiers()))
        .hasSize(48);
    assertThat(RdmaVerbs.getVersion()).isEqualTo(32);
  }

  @Test
  void sendReceiveAndReadThroughDisni() throws Exception {
    RdmaEventChannel serverChannel = RdmaEventChannel.createEventChannel();
    RdmaEventChannel clientChannel = RdmaEventChannel.createEventChannel();
    RdmaCmId listener = serverChannel.createId(RdmaCm.RDMA_PS_TCP);
    RdmaCmId client = clientChannel.createId(RdmaCm.RDMA_PS_TCP);
    listener.bindAddr(new InetSocketAddress(TestDevice.address(), 0));
    listener.listen(4);
    SocketAddress address = listener.getSource();

    client.resolveAddr(null, address, TIMEOUT_MS);
    take(clientChannel, EventType.RDMA_CM_EVENT_ADDR_RESOLVED).ackEvent();
    client.resolveRoute(TIMEOUT_MS);
    take(clientChannel, EventType.RDMA_CM_EVENT_ROUTE_RESOLVED).ackEvent();
    Side near = new Side(client);
    assertThat(near.context.getCmd_fd()).isGreaterThanOrEqualTo(-1);
    assertThat(near.context.getNumCompVectors()).isPositive();
    assertThat(near.context.queryOdpSupport()).isGreaterThanOrEqualTo(-1);
    assertThat(near.pd.getHandle()).isGreaterThanOrEqualTo(0);
    client.connect(parameters());

    RdmaCmEvent request = take(serverChannel, EventType.RDMA_CM_EVENT_CONNECT_REQUEST);
    RdmaCmId accepted = request.getConnIdPriv();
    Side far = new Side(accepted);
    far.qp.postRecv(List.of(receive(far.sge())), null).execute().free();
    accepted.accept(parameters());
    request.ackEvent();
    take(clientChannel, EventType.RDMA_CM_EVENT_ESTABLISHED).ackEvent();
    take(serverChannel, EventType.RDMA_CM_EVENT_ESTABLISHED).ackEvent();
    assertThat(client.getDestination()).isEqualTo(address);

    near.memory.putLong(0, 0x1122334455667788L);
    far.cq.reqNotification(false).execute().free();
    near.qp
        .postSend(List.of(work(IbvSendWR.IBV_WR_SEND, 1, near.sge())), null)
        .execute()
        .free();
    assertThat(far.channel.getCqEvent(far.cq, TIMEOUT_MS)).isTrue();
    far.cq.ackEvents(1);
    assertThat(far.awaitCompletion().getStatus()).isZero();
    assertThat(near.awaitCompletion().getWr_id()).isEqualTo(1);
    assertThat(far.memory.getLong(0)).isEqualTo(0x1122334455667788L);

    far.memory.putLong(0, 42);
    IbvSendWR read = work(IbvSendWR.IBV_WR_RDMA_READ, 2, near.sge());
    read.getRdma().setRemote_addr(far.mr.getAddr());
    read.getRdma().setRkey(far.mr.getRkey());
    near.qp.postSend(List.of(read), null).execute().free();
    assertThat(near.awaitCompletion().getWr_id()).isEqualTo(2);
    assertThat(near.memory.getLong(0)).isEqualTo(42);
    assertThat(near.mr.expPrefetchMr(near.mr.getAddr(), 64)).isIn(-1, 0);

    RdmaVerbsNat verbs = (RdmaVerbsNat) RdmaVerbs.open();
    assertThat(verbs.modifyQP(near.qp, null)).isSameAs(near.qp);
    modifyToError(near.qp);
    near.qp
        .postSend(List.of(work(IbvSendWR.IBV_WR_SEND, 3, near.sge())), null)
        .execute()
        .free();
    assertThat(near.awaitCompletion().getStatus()).isEqualTo(WcStatus.WR_FLUSH_ERR);

    assertThat(client.disconnect()).isZero();
    near.giveBack();
    assertThat(client.destroyQP()).isZero();
    near.giveBackQueues();
    far.giveBack();
    assertThat(accepted.destroyEp()).isZero();
    far.giveBackQueues();
    assertThat(client.destroyId()).isZero();
    assertThat(listener.destroyId()).isZero();
    assertThat(clientChannel.destroyEventChannel()).isZero();
    assertThat(serverChannel.destroyEventChannel()).isZero();
  }

  @Test
  void thePortSpaceIsPassedOn() throws Exception {
    NativeDispatcher natives = new NativeDispatcher();
    RdmaEventChannel channel = RdmaEventChannel.createEventChannel();
    long handle = ((NatObject) channel).getObjId();
    assertThatIOException()
        .isThrownBy(() -> natives._createId(handle, NO_PORT_SPACE))
        .withMessage("j2c::createId: rdma_create_id failed: Invalid argument");
    assertThat(channel.destroyEventChannel()).isZero();
  }

  @Test
  void anIdWithAnUnacknowledgedEventCanBeDestroyed() throws Exception {
    RdmaEventChannel channel = RdmaEventChannel.createEventChannel();
    RdmaCmId listener = channel.createId(RdmaCm.RDMA_PS_TCP);
    listener.bindAddr(new InetSocketAddress(TestDevice.address(), 0));
    listener.listen(1);
    RdmaCmId client = channel.createId(RdmaCm.RDMA_PS_TCP);
    client.resolveAddr(null, listener.getSource(), TIMEOUT_MS);
    assertThat(take(channel, EventType.RDMA_CM_EVENT_ADDR_RESOLVED)).isNotNull();
    assertThat(client.destroyId()).isZero();
    assertThat(listener.destroyId()).isZero();
    assertThat(channel.getCmEvent(1)).isNull();
    assertThat(channel.destroyEventChannel()).isZero();
  }

  @Test
  void failuresAreWordedAsDisniWordsThem() throws Exception {
    RdmaEventChannel channel = RdmaEventChannel.createEventChannel();
    RdmaCmId id = channel.createId(RdmaCm.RDMA_PS_TCP);
    assertThatIOException()
        .isThrownBy(() -> id.resolveRoute(1))
        .withMessage("j2c::resolveRoute: rdma_resolve_route failed: Invalid argument");
    assertThatIOException()
        .isThrownBy(() -> id.connect(parameters()))
        .withMessage("j2c::connect: ibv_query_device failed: Invalid argument");
    assertThat(id.getVerbs()).isNull();
    assertThat(id.destroyId()).isZero();
    assertThat(channel.destroyEventChannel()).isZero();
  }

  @Test
  void nullHandlesAreAnsweredNotFollowed() throws Exception {
    NativeDispatcher natives = new NativeDispatcher();
    assertThat(natives._destroyEventChannel(0)).isEqualTo(-1);
    assertThat(natives._destroyCmId(0)).isEqualTo(-1);
    assertThat(natives._destroyQP(0)).isEqualTo(-1);
    assertThat(natives._destroyEp(0)).isEqualTo(-1);
    assertThat(natives._deallocPd(0)).isEqualTo(-1);
    assertThat(natives._destroyCQ(0)).isEqualTo(-1);
    assertThat(natives._destroyCompChannel(0)).isEqualTo(-1);
    assertThat(natives._getSrcAddr(0, 0)).isEqualTo(-1);
    assertThat(natives._disconnect(0)).isEqualTo(-1);
    assertThatIOException().isThrownBy(() -> natives._deregMr(0));
    assertThatIOException()
        .isThrownBy(() -> natives._postSend(0, 0))
        .withMessage("j2c::postSend: ibv_post_send failed: Invalid argument");
  }

  private static RdmaCmEvent take(RdmaEventChannel channel, EventType type) throws IOException {
    RdmaCmEvent event = channel.getCmEvent(TIMEOUT_MS);
    assertThat(event).as("event in place of %s", type).isNotNull();
    assertThat(List.of(EventType.values()).get(event.getEvent())).isEqualTo(type);
    return event;
  }

  private static RdmaConnParam parameters() throws IOException {
    RdmaConnParam parameters = new RdmaConnParam();
    parameters.setRetry_count((byte) 7);
    parameters.setRnr_retry_count((byte) 7);
    return parameters;
  }

  /** The mask and the structure that _modifyQP takes: qp_state is the first field of it. */
  private static void modifyToError(IbvQP qp) throws IOException {
    ByteBuffer request = ByteBuffer.allocateDirect(256).order(ByteOrder.nativeOrder());
    request.putInt(0, IBV_QP_STATE).putInt(8, IbvQP.IBV_QPS_ERR);
    long handle = ((NatObject) qp).getObjId();
    assertThat(new NativeDispatcher()._modifyQP(handle, Natives.bufferAddress(request)))
        .isZero();
  }

  @SuppressWarnings({"JdkObsolete", "NonApiType"}) // DiSNI asks for this class.
  private static LinkedList<IbvSge> listOf(IbvSge sge) {
    return new LinkedList<>(List.of(sge));
  }

  private static IbvRecvWR receive(IbvSge sge) {
    IbvRecvWR request = new IbvRecvWR();
    request.setWr_id(7);
    request.setSg_list(listOf(sge));
    request.setNum_sge(1);
    return request;
  }

  private static IbvSendWR work(int opcode, long wrId, IbvSge sge) {
    IbvSendWR request = new IbvSendWR();
    request.setWr_id(wrId);
    request.setOpcode(opcode);
    request.setSend_flags(IbvSendWR.IBV_SEND_SIGNALED);
    request.setSg_list(listOf(sge));
    request.setNum_sge(1);
    return request;
  }

  private static final class Side {
    final IbvContext context;
    final IbvPd pd;
    final IbvCompChannel channel;
    final IbvCQ cq;
    final IbvQP qp;
    final ByteBuffer memory = ByteBuffer.allocateDirect(4096).order(ByteOrder.nativeOrder());
    final IbvMr mr;

    Side(RdmaCmId id) throws IOException {
      context = id.getVerbs();
      pd = context.allocPd();
      channel = context.createCompChannel();
      cq = context.createCQ(channel, 16, 0);
      IbvQPInitAttr attributes = new IbvQPInitAttr();
      attributes.cap().setMax_send_wr(8);
      attributes.cap().setMax_recv_wr(8);
      attributes.setQp_type(IbvQP.IBV_QPT_RC);
      attributes.setSend_cq(cq);
      attributes.setRecv_cq(cq);
      qp = id.createQP(pd, attributes);
      assertThat(qp.getQp_num()).isPositive();
      mr = pd.regMr(memory, ACCESS).execute().free().getMr();
      if (TestDevice.isSoft()) { // Other devices may give both keys one value.
        assertThat(mr.getLkey()).isNotEqualTo(mr.getRkey());
      }
    }

    IbvSge sge() {
      IbvSge sge = new IbvSge();
      sge.setAddr(mr.getAddr());
      sge.setLength(64);
      sge.setLkey(mr.getLkey());
      return sge;
    }

    IbvWC awaitCompletion() throws IOException {
      IbvWC[] completions = new IbvWC[4];
      Arrays.setAll(completions, i -> new IbvWC());
      long deadlineNs = System.nanoTime() + TIMEOUT_MS * 1_000_000L;
      while (cq.poll(completions, completions.length).execute().free().getPolls() == 0) {
        assertThat(System.nanoTime()).as("no completion in time").isLessThan(deadlineNs);
        Thread.onSpinWait();
      }
      return completions[0];
    }

    void giveBack() throws IOException {
      mr.deregMr().execute().free();
    }

    void giveBackQueues() throws Exception {
      assertThat(cq.destroyCQ()).isZero();
      assertThat(channel.destroyCompChannel()).isZero();
      assertThat(pd.deallocPd()).isZero();
    }
  }
}
