/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.WcStatus;

/**
 * Why a list of READs was not carried out.
 *
 * @param culprit index in the list of the READ that broke the connection; {@link #NO_CULPRIT} if
 *     that was none of this list
 * @param wcStatus completion status of the culprit
 * @param breakage what ended the connection
 */
public record ReadFailure(
    int culprit, int wcStatus, int vendorError, NoConnectionException breakage) {
  public static final int NO_CULPRIT = -1;

  public static ReadFailure collateral(NoConnectionException breakage) {
    return new ReadFailure(NO_CULPRIT, WcStatus.WR_FLUSH_ERR, 0, breakage);
  }

  public boolean hasCulprit() {
    return culprit != NO_CULPRIT;
  }

  /** Returns why the blocks go by TCP that this list, or its culprit, was to bring. */
  public TcpReason tcpReason() {
    if (!hasCulprit()) {
      return breakage.failure().tcpReason();
    }
    return wcStatus == WcStatus.REM_ACCESS_ERR ? TcpReason.REMOTE_ACCESS : TcpReason.READ_ERROR;
  }

  @Override
  public String toString() {
    if (!hasCulprit()) {
      return breakage.reason();
    }
    return WcStatus.text(wcStatus) + " (vendor error " + vendorError + ")";
  }
}
