/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Reads an interface's priority flow control, and which priority it gives to a DSCP, from `dcb`. */
final class FlowControl {
  private static final int TIMEOUT_S = 5;

  private FlowControl() {}

  static String of(String netInterface) {
    return "PFC " + said("pfc", netInterface) + "; DSCP " + said("app", netInterface);
  }

  private static String said(String what, String netInterface) {
    try {
      Process dcb = new ProcessBuilder("dcb", what, "show", "dev", netInterface)
          .redirectErrorStream(true)
          .start();
      dcb.getOutputStream().close();
      if (!dcb.waitFor(TIMEOUT_S, TimeUnit.SECONDS)) {
        dcb.destroyForcibly();
        return "not readable: `dcb` does not end";
      }
      String said = new String(dcb.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
          .replaceAll("\\s+", " ")
          .trim();
      if (dcb.exitValue() != 0) {
        return "not readable: the interface tells none";
      }
      return said.isEmpty() ? "none set" : said.toLowerCase(Locale.ROOT);
    } catch (IOException e) {
      return "not readable: no `dcb` program";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "not readable: interrupted";
    }
  }
}
