/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** The values of {@code enum ibv_wc_status}, the meaning of each, and what to do about it. */
public final class WcStatus {
  public static final int SUCCESS = 0;
  public static final int LOC_LEN_ERR = 1;
  public static final int LOC_QP_OP_ERR = 2;
  public static final int LOC_EEC_OP_ERR = 3;
  public static final int LOC_PROT_ERR = 4;
  public static final int WR_FLUSH_ERR = 5;
  public static final int MW_BIND_ERR = 6;
  public static final int BAD_RESP_ERR = 7;
  public static final int LOC_ACCESS_ERR = 8;
  public static final int REM_INV_REQ_ERR = 9;
  public static final int REM_ACCESS_ERR = 10;
  public static final int REM_OP_ERR = 11;
  public static final int RETRY_EXC_ERR = 12;
  public static final int RNR_RETRY_EXC_ERR = 13;
  public static final int LOC_RDD_VIOL_ERR = 14;
  public static final int REM_INV_RD_REQ_ERR = 15;
  public static final int REM_ABORT_ERR = 16;
  public static final int INV_EECN_ERR = 17;
  public static final int INV_EEC_STATE_ERR = 18;
  public static final int FATAL_ERR = 19;
  public static final int RESP_TIMEOUT_ERR = 20;
  public static final int GENERAL_ERR = 21;

  private static final String[][] NAME_MEANING_REMEDY = {
    {"SUCCESS", "the work request is done", "nothing to do"},
    {
      "LOC_LEN_ERR",
      "a message is longer than its local buffers or the port allows",
      "post a buffer as long as the message"
    },
    {
      "LOC_QP_OP_ERR",
      "the queue pair could not carry out the work request",
      "check opcode, scatter/gather count and the queue pair's capabilities"
    },
    {
      "LOC_EEC_OP_ERR",
      "an end-to-end context failed",
      "reliable datagrams are not in use: report it"
    },
    {
      "LOC_PROT_ERR",
      "a local buffer is outside the region its lkey names, or not of this domain",
      "keep the region registered with LOCAL_WRITE until the work request has completed"
    },
    {
      "WR_FLUSH_ERR",
      "the queue pair went to the error state before this work request ran",
      "look at the first failed completion of the same queue pair; reconnect"
    },
    {"MW_BIND_ERR", "a memory window could not be bound", "check region, window and access flags"},
    {"BAD_RESP_ERR", "the peer answered with an unexpected packet", "reconnect"},
    {
      "LOC_ACCESS_ERR",
      "a protection error on local memory while the peer wrote to it",
      "check the access flags of the local region"
    },
    {
      "REM_INV_REQ_ERR",
      "the peer finds the request invalid or longer than it may be",
      "check length and opcode, and that the peer's queue pair allows READ"
    },
    {
      "REM_ACCESS_ERR",
      "the peer's region is gone, shorter, or does not allow this access",
      "ask for the location again: the map output was removed or the rkey is stale; reconnect"
    },
    {"REM_OP_ERR", "the peer could not complete the request", "look at the peer's log; reconnect"},
    {
      "RETRY_EXC_ERR",
      "the peer did not answer within all retries",
      "check that the peer is alive and the link is up (ibv_devinfo, PFC/ECN on RoCE); reconnect"
    },
    {
      "RNR_RETRY_EXC_ERR",
      "the peer had no receive buffer within all retries",
      "post receives earlier or raise rnr_retry to 7"
    },
    {"LOC_RDD_VIOL_ERR", "the reliable datagram domain does not match", "report it"},
    {"REM_INV_RD_REQ_ERR", "the peer refused a reliable datagram", "report it"},
    {"REM_ABORT_ERR", "the peer aborted the operation", "look at the peer's log; reconnect"},
    {"INV_EECN_ERR", "the end-to-end context number is invalid", "report it"},
    {"INV_EEC_STATE_ERR", "the end-to-end context is in a wrong state", "report it"},
    {"FATAL_ERR", "the device failed for good", "look at the kernel log; the device must be reset"},
    {"RESP_TIMEOUT_ERR", "the peer did not respond in time", "check the link; reconnect"},
    {
      "GENERAL_ERR",
      "a transport error without a code of its own",
      "look at vendor error and kernel log"
    },
  };

  private WcStatus() {}

  /** Returns the name without {@code IBV_WC_}. */
  public static String name(int status) {
    return isKnown(status) ? NAME_MEANING_REMEDY[status][0] : "UNKNOWN_" + status;
  }

  /** Describes a status by name, number, meaning and remedy; accepts any number. */
  public static String text(int status) {
    if (!isKnown(status)) {
      return "unknown work completion status " + status;
    }
    String[] row = NAME_MEANING_REMEDY[status];
    return "IBV_WC_" + row[0] + " (" + status + "): " + row[1] + "; " + row[2];
  }

  private static boolean isKnown(int status) {
    return status >= 0 && status < NAME_MEANING_REMEDY.length;
  }
}
