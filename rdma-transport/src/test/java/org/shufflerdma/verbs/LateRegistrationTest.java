/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A process whose device takes seconds to register. */
@Timeout(60)
@OnSoftDevice("faults are asked of it")
class LateRegistrationTest {
  private static final int BYTES = 64 << 10;

  @Test
  void aDomainDoesNotCloseWhileMemoryIsRegistered() throws Exception {
    try (Jvm jvm =
        Jvm.start(Map.of("SOFTVERBS_FAULT", "reg_mr:delay=3000"), LateRegistrationTest.class)) {
      assertThat(jvm.awaitLine("close: ")).contains("memory is being registered");
      assertThat(jvm.awaitLine("registered: ")).isEqualTo("true");
    }
  }

  public static void main(String[] arguments) throws Exception {
    TestDevice.open();
    try (EventChannel channel = EventChannel.open();
        ConnectionId id = channel.createId();
        NativeMemory memory = NativeMemory.allocate(BYTES, false)) {
      id.bind(new InetSocketAddress(TestDevice.address(), 0));
      DeviceContext device = id.context() == null ? channel.devices().get(0) : id.context();
      ProtectionDomain domain = Objects.requireNonNull(device).allocProtectionDomain();
      FutureTask<MemoryRegion> late =
          new FutureTask<>(() -> domain.register(memory.address(), BYTES, Access.REMOTE_READ));
      Thread thread = new Thread(late);
      thread.start();
      while (!isRegistering(thread)) {
        Thread.onSpinWait();
      }
      try {
        domain.close();
        System.out.println("close: done");
      } catch (VerbsException e) {
        System.out.println("close: " + e.getMessage());
      }
      late.get().close();
      System.out.println("registered: " + domain.isOpen());
      domain.close();
    }
  }

  private static boolean isRegistering(Thread thread) {
    StackTraceElement[] stack = thread.getStackTrace();
    return stack.length > 0 && stack[0].getMethodName().equals("registerMemory");
  }
}
