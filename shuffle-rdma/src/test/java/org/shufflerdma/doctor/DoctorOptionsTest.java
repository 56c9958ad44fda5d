/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DoctorOptionsTest {
  @TempDir
  Path folder;

  @Test
  void optionsAreRead() {
    String json = folder.resolve("report.json").toString();
    assertThat(DoctorOptions.parse(new String[] {
          "--executors",
          "8",
          "--hosts",
          "a,b",
          "--wait",
          "5",
          "--per",
          "executor",
          "--at-a-time",
          "2",
          "--least-mb-per-s",
          "1000",
          "--json",
          json
        }))
        .isEqualTo(new DoctorOptions(8, List.of("a", "b"), 5, true, 2, 1000, Path.of(json)));
  }

  @Test
  void wrongOnesAreNamedWithWhatIsAccepted() {
    refused("unknown option '--exec': give --at-a-time, --executors", "--exec", "1");
    refused("--wait needs a value", "--wait");
    refused("--per rack: give host or executor", "--per", "rack");
    refused("--at-a-time 0: give a whole number from 1 to 1000", "--at-a-time", "0");
    refused("--wait -1: give a whole number from 1 to 86400", "--wait", "-1");
    refused(
        "--json " + folder + " is no file that this user may write", "--json", folder.toString());
    refused("--json /nowhere/x.json is no file", "--json", "/nowhere/x.json");
  }

  private static void refused(String message, String... args) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DoctorOptions.parse(args))
        .withMessageStartingWith(message);
  }
}
