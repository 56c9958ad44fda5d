/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import java.io.IOException;
import java.util.Arrays;
import org.shufflerdma.estimate.Estimate;
import org.shufflerdma.hardware.VerifyHardware;

/** What {@code java -jar} runs with the plugin's jar: with {@code --estimate} that, and otherwise bin/verify-hardware. */
public final class JarProgram {
  private JarProgram() {}

  public static void main(String[] args) throws IOException, ReflectiveOperationException {
    if (args.length > 0 && args[0].equals("--estimate")) {
      System.exit(Estimate.run(Arrays.copyOfRange(args, 1, args.length), System.out, System.err));
    }
    VerifyHardware.main(args);
  }
}
