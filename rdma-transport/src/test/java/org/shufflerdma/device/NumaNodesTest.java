/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NumaNodesTest {
  @TempDir
  Path system;

  private void node(int number, String cpus) throws IOException {
    Path node = Files.createDirectories(system.resolve("node" + number));
    Files.writeString(node.resolve("cpulist"), cpus + "\n");
  }

  private List<Integer> confining(String status) throws IOException {
    Path file = Files.writeString(system.resolve("status"), status);
    return NumaNodes.confining(file, system).stream().toList();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {"0-63;", "0,16;", "0,40;0", "3;0", "16-31,48-63;1", "17;1", "0-15,32-47;0", "70-80;"
      })
  void cpusOfOneNodeConfineToItAndThoseOfAllDoNot(String cpus, Integer node) throws Exception {
    node(0, "0-15,32-47");
    node(1, "16-31,48-63");
    node(2, ""); // of memory alone, such as CXL's
    Files.createDirectories(system.resolve("node_of_nothing"));
    assertThat(confining("Name:\tjava\nCpus_allowed:\tff\nCpus_allowed_list:\t" + cpus
            + "\nMems_allowed_list:\t0-1\n"))
        .isEqualTo(node == null ? List.of() : List.of(node));
  }

  @Test
  void aHostWithOneNodeOrAnUnknownFormConfinesNobody() throws Exception {
    node(0, "0-1");
    assertThat(confining("Cpus_allowed_list:\t0\n")).isEmpty();
    node(1, "2-3");
    for (String status : List.of("", "Cpus_allowed_list:\tff\n", "Cpus_allowed_list:\n")) {
      assertThat(confining(status)).as(status).isEmpty();
    }
    assertThat(NumaNodes.confining(system.resolve("absent"), system)).isEmpty();
    assertThat(NumaNodes.confining(system.resolve("status"), system.resolve("absent")))
        .isEmpty();
  }
}
