/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.util.List;

/** The values of {@code enum ibv_wc_status}, the meaning of each, and what to do about it. */
public final class WcStatus {
  public static final int SUCCESS = 0;
  public static final int WR_FLUSH_ERR = 5;
  public static final int REM_INV_REQ_ERR = 9;
  public static final int REM_ACCESS_ERR = 10;
  public static final int RETRY_EXC_ERR = 12;
  public static final int RNR_RETRY_EXC_ERR = 13;
  public static final int RESP_TIMEOUT_ERR = 20;
  public static final int GENERAL_ERR = 21;

  /** A line for each value, in their order. */
  private static final List<String> NAME_MEANING_REMEDY = """
      SUCCESS: the work request is done; nothing to do
      LOC_LEN_ERR: a message is longer than its buffers or the port allows; post a longer buffer
      LOC_QP_OP_ERR: the queue pair could not carry out the request; check opcode and capabilities
      LOC_EEC_OP_ERR: an end-to-end context failed; reliable datagrams are not in use: report it
      LOC_PROT_ERR: a local buffer is not in its lkey's region; keep it registered until completion
      WR_FLUSH_ERR: the queue pair failed before this request ran; look at its first error
      MW_BIND_ERR: a memory window could not be bound; check region, window and access flags
      BAD_RESP_ERR: the peer answered with an unexpected packet; reconnect
      LOC_ACCESS_ERR: the peer may not write to local memory; check the access flags of the region
      REM_INV_REQ_ERR: the peer finds the request invalid or too long; check length and opcode
      REM_ACCESS_ERR: the peer's region is gone or refuses access; get the location again; reconnect
      REM_OP_ERR: the peer could not complete the request; look at the peer's log; reconnect
      RETRY_EXC_ERR: the peer did not answer within all retries; check peer, link and PFC/ECN
      RNR_RETRY_EXC_ERR: the peer had no receive buffer within all retries; raise rnr_retry to 7
      LOC_RDD_VIOL_ERR: the reliable datagram domain does not match; report it
      REM_INV_RD_REQ_ERR: the peer refused a reliable datagram; report it
      REM_ABORT_ERR: the peer aborted the operation; look at the peer's log; reconnect
      INV_EECN_ERR: the end-to-end context number is invalid; report it
      INV_EEC_STATE_ERR: the end-to-end context is in a wrong state; report it
      FATAL_ERR: the device failed for good; look at the kernel log; the device must be reset
      RESP_TIMEOUT_ERR: the peer did not respond in time; check the link; reconnect
      GENERAL_ERR: a transport error without a code of its own; look at vendor error and kernel log
      """.lines().toList();

  private WcStatus() {}

  /** Returns the name without {@code IBV_WC_}. */
  public static String name(int status) {
    return isKnown(status) ? NAME_MEANING_REMEDY.get(status).split(":", 2)[0] : "UNKNOWN_" + status;
  }

  /** Describes a status by name, number, meaning and remedy; accepts any number. */
  public static String text(int status) {
    return isKnown(status)
        ? "IBV_WC_" + NAME_MEANING_REMEDY.get(status).replaceFirst(":", " (" + status + "):")
        : "unknown work completion status " + status;
  }

  private static boolean isKnown(int status) {
    return status >= 0 && status < NAME_MEANING_REMEDY.size();
  }
}
