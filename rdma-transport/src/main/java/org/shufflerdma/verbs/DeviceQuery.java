/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.ArrayList;
import java.util.List;

/** Reads a device's attributes, its ports and GIDs through an open context. */
final class DeviceQuery {
  /* Words of Natives.queryDevice. */
  private static final int GUID = 0;
  private static final int MAX_QP_RD_ATOM = 1;
  private static final int MAX_QP_WR = 2;
  private static final int MAX_SGE = 3;
  private static final int MAX_CQE = 4;
  private static final int MAX_MR_SIZE = 5;
  private static final int MAX_MR = 6;
  private static final int ODP_READ = 7;
  private static final int PORTS = 8;
  private static final int MAX_QP_INIT_RD_ATOM = 9;
  private static final int LOCAL_CA_ACK_DELAY = 10;
  private static final int MAX_QP = 11;
  private static final int DEVICE_WORDS = 12;

  /* Words of Natives.queryPort. */
  private static final int STATE = 0;
  private static final int ACTIVE_MTU = 1;
  private static final int MAX_MSG = 2;
  private static final int LINK_LAYER = 3;
  private static final int GID_TABLE_LENGTH = 4;
  private static final int PORT_WORDS = 5;

  private DeviceQuery() {}

  static DeviceInfo read(long context) throws VerbsException {
    long[] words = new long[DEVICE_WORDS];
    Natives.queryDevice(context, words);
    List<PortInfo> ports = new ArrayList<>();
    for (int port = 1; port <= words[PORTS]; port++) {
      ports.add(readPort(context, port));
    }
    return new DeviceInfo(
        Natives.deviceName(context),
        words[GUID],
        Math.toIntExact(words[MAX_QP_RD_ATOM]),
        Math.toIntExact(words[MAX_QP_INIT_RD_ATOM]),
        Math.toIntExact(words[LOCAL_CA_ACK_DELAY]),
        Math.toIntExact(words[MAX_QP]),
        Math.toIntExact(words[MAX_QP_WR]),
        Math.toIntExact(words[MAX_SGE]),
        Math.toIntExact(words[MAX_CQE]),
        words[MAX_MR_SIZE] < 0 ? Long.MAX_VALUE : words[MAX_MR_SIZE],
        Math.toIntExact(words[MAX_MR]),
        words[ODP_READ] != 0,
        List.copyOf(ports));
  }

  private static PortInfo readPort(long context, int port) throws VerbsException {
    long[] words = new long[PORT_WORDS];
    Natives.queryPort(context, port, words);
    List<Gid> gids = new ArrayList<>();
    byte[] bytes = new byte[16];
    for (int index = 0; index < words[GID_TABLE_LENGTH]; index++) {
      Natives.queryGid(context, port, index, bytes);
      Gid gid = Gid.of(index, bytes);
      if (!gid.isZero()) {
        gids.add(gid);
      }
    }
    return new PortInfo(
        port,
        PortState.of((int) words[STATE]),
        Mtu.toBytes((int) words[ACTIVE_MTU]),
        words[MAX_MSG],
        LinkLayer.of((int) words[LINK_LAYER]),
        List.copyOf(gids));
  }
}
