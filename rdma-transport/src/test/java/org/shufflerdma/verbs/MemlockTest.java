/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a user sees whose limit of locked memory is too small. */
@Timeout(60)
final class MemlockTest {
  /** Registers more than the limit allows. */
  static final class Registrar {
    private Registrar() {}

    public static void main(String[] arguments) throws Exception {
      try (Loopback loopback = Loopback.listening()) {
        ProtectionDomain domain = loopback.connect().initiator().domain;
        NativeMemory memory = loopback.own(NativeMemory.allocate(1 << 20, false));
        try {
          loopback.own(domain.register(memory.address(), memory.size(), Access.LOCAL_WRITE));
          System.out.println("registered");
        } catch (VerbsException e) {
          System.out.println("errno " + e.errno() + " " + e.getMessage());
        }
      }
    }
  }

  @Test
  void registeringBeyondTheLimitNamesLimitAndRemedy() throws Exception {
    assumeThat(Files.isExecutable(Path.of("/usr/bin/setpriv")))
        .as("setpriv is there")
        .isTrue();
    List<String> wrapper = new ArrayList<>();
    if ("root".equals(System.getProperty("user.name"))) { // who has the capability
      wrapper.addAll(List.of("setpriv", "--bounding-set=-ipc_lock"));
    }
    wrapper.addAll(List.of("prlimit", "--memlock=65536:65536"));
    Map<String, String> enforced = Map.of("SOFTVERBS_MEMLOCK", "enforce");
    try (Jvm jvm = Jvm.startUnder(wrapper, enforced, Registrar.class)) {
      assertThat(jvm.awaitLine("errno 12 "))
          .contains("ibv_reg_mr failed: Cannot allocate memory")
          .contains("limit of locked memory is 64 KiB", "ulimit -l", "CAP_IPC_LOCK");
    }
  }
}
