/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Reads an interface's priority flow control as the `dcb` program reports it. */
final class FlowControl {
  private static final int TIMEOUT_S = 5;

  private FlowControl() {}

  static String of(String netInterface) {
    try {
      Process dcb = new ProcessBuilder("dcb", "pfc", "show", "dev", netInterface)
          .redirectErrorStream(true)
          .start();
      dcb.getOutputStream().close();
      if (!dcb.waitFor(TIMEOUT_S, TimeUnit.SECONDS)) {
        dcb.destroyForcibly();
        return "PFC unknown: `dcb` does not end";
      }
      String said = new String(dcb.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
          .replaceAll("\\s+", " ")
          .trim();
      return dcb.exitValue() == 0
          ? said.toLowerCase(Locale.ROOT)
          : "PFC unknown: the interface tells none";
    } catch (IOException e) {
      return "PFC unknown: no `dcb` program";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "PFC unknown: interrupted";
    }
  }
}
