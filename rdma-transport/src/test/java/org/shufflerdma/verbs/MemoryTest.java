/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class MemoryTest {
  @TempDir
  Path directory;

  @Test
  void aRegionBeyondTwoGibibytesIsOneRegion() throws Exception {
    long size = 3L << 30;
    TestDevice.assumeTakes(size);
    try (Loopback loopback = Loopback.listening()) {
      ProtectionDomain domain = loopback.connect().responder().domain;
      try (NativeMemory memory = NativeMemory.allocate(size, false);
          MemoryRegion region = domain.register(memory.address(), size, Access.REMOTE_READ)) {
        assertThat(region.length()).isEqualTo(size);
        assertThat(region.address()).isEqualTo(memory.address());
        if (TestDevice.isSoft()) { // Other devices may give both keys one value.
          assertThat(region.lkey()).isNotEqualTo(region.rkey());
        }
      }
    }
  }

  @Test
  void memoryInHugePagesBeginsWhereOneDoes() throws Exception {
    for (long bytes : List.of(10_000L, 2L << 20, 5L << 20)) {
      try (NativeMemory memory = NativeMemory.allocate(bytes, true)) {
        assertThat(memory.address() % (2 << 20)).isZero();
        memory.slice(0, (int) bytes).put((int) bytes - 1, (byte) 1);
      }
    }
  }

  @Test
  void aDomainWithARegionStaysOpenUntilTheRegionIsClosed() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      loopback.resolve();
      DeviceContext context = loopback.client.context();
      assertThat(context).isNotNull();
      ProtectionDomain domain = loopback.own(context.allocProtectionDomain());
      NativeMemory memory = loopback.own(NativeMemory.allocate(4096, false));
      MemoryRegion region = domain.register(memory.address(), 4096, Access.LOCAL_WRITE);
      assertThatExceptionOfType(VerbsException.class)
          .isThrownBy(domain::close)
          .satisfies(e -> assertThat(e.errno()).isEqualTo(Errno.EBUSY))
          .satisfies(e -> assertThat(e.call()).isEqualTo("ibv_dealloc_pd"));
      assertThat(domain.isOpen()).isTrue();
      region.close();
      region.close();
      domain.close();
      assertThat(domain.isOpen()).isFalse();
    }
  }

  @Test
  void fileRangesOutsideTheFileAreRefused() throws Exception {
    Path file = Files.write(directory.resolve("data"), new byte[10_000]);
    try (Loopback loopback = Loopback.listening();
        MappedFile mapped = MappedFile.open(file)) {
      ProtectionDomain domain = loopback.connect().responder().domain;
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> domain.register(mapped, 1, 10_000, Access.REMOTE_READ));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> domain.register(mapped, 0, 0, Access.REMOTE_READ));
      try (MemoryRegion tail = domain.register(mapped, 8192, 1808, Access.REMOTE_READ)) {
        assertThat(tail.address()).isEqualTo(mapped.address() + 8192);
      }
    }
  }

  /** All combinations of the flags that enum ibv_access_flags has up to 0x80, and relaxed ordering. */
  @Test
  void noAccessButReadingByPeersOrWritingByOwnReadsIsRegistered() throws Exception {
    Set<Integer> allowed = Set.of(
        Access.REMOTE_READ,
        Access.REMOTE_READ | Access.ON_DEMAND,
        Access.LOCAL_WRITE,
        Access.LOCAL_WRITE | Access.RELAXED_ORDERING);
    Path file = Files.write(directory.resolve("data"), new byte[4096]);
    try (Loopback loopback = Loopback.listening();
        NativeMemory memory = NativeMemory.allocate(4096, false);
        MappedFile mapped = MappedFile.open(file)) {
      ProtectionDomain domain = loopback.connect().responder().domain;
      for (int low = 0; low < 1 << 8; low++) {
        for (int access : new int[] {low, low | Access.RELAXED_ORDERING, low | Integer.MIN_VALUE}) {
          if (!allowed.contains(access)) {
            assertThatIllegalArgumentException()
                .as("access 0x%x", access)
                .isThrownBy(() -> domain.register(memory.address(), 4096, access));
            assertThatIllegalArgumentException()
                .as("access 0x%x of a file", access)
                .isThrownBy(() -> domain.register(mapped, 0, 4096, access));
          }
        }
      }
      domain.register(memory.address(), 4096, Access.REMOTE_READ).close();
      domain
          .register(memory.address(), 4096, Access.LOCAL_WRITE | Access.RELAXED_ORDERING)
          .close();
    }
  }

  @Test
  void aRegionOutlivesItsMappedFile() throws Exception {
    Path file = Files.write(directory.resolve("data"), new byte[4096]);
    try (Loopback loopback = Loopback.listening()) {
      ProtectionDomain domain = loopback.connect().responder().domain;
      MappedFile mapped = MappedFile.open(file);
      try (MemoryRegion region = domain.register(mapped, 0, 4096, Access.REMOTE_READ)) {
        mapped.close();
        mapped.close();
        assertThat(region.isOpen()).isTrue();
        assertThatIllegalStateException()
            .isThrownBy(() -> domain.register(mapped, 0, 4096, Access.REMOTE_READ));
      }
    }
  }

  @Test
  void emptyFilesMapToNothing() throws Exception {
    TestDevice.open();
    try (MappedFile mapped = MappedFile.open(Files.createFile(directory.resolve("empty")))) {
      assertThat(mapped.size()).isZero();
      assertThat(mapped.address()).isZero();
    }
  }

  @Test
  void aMissingFileIsNamed() throws Exception {
    TestDevice.open();
    Path missing = directory.resolve("missing");
    assertThatExceptionOfType(VerbsException.class)
        .isThrownBy(() -> MappedFile.open(missing))
        .withMessage("open failed: No such file or directory (errno 2): " + missing)
        .satisfies(e -> assertThat(e.errno()).isEqualTo(2));
    assertThatExceptionOfType(VerbsException.class).isThrownBy(() -> MappedFile.open(directory));
  }

  @Test
  void hugePagesOfTheKernelsPoolAreUsedWhereThereAreSome() throws Exception {
    TestDevice.open();
    long size = 4 << 20;
    assumeThat(freeHugePages())
        .as("free huge pages; vm.nr_hugepages sets some aside")
        .isGreaterThan(1);
    try (NativeMemory memory = NativeMemory.allocate(size, true)) {
      assertThat(memory.isOfReservedPages()).isTrue();
      assertThat(pageKibibytesAt(memory.address())).isEqualTo(2048);
      assertThat(memory.slice(size - 8, 8).putLong(0, 42).getLong(0)).isEqualTo(42);
    }
    try (NativeMemory memory = NativeMemory.allocate(size, false)) {
      assertThat(memory.isOfReservedPages()).isFalse();
    }
  }

  @Test
  void withoutHugePagesItWorksAllTheSame() throws Exception {
    TestDevice.open();
    long size = (freeHugePages() + 1) * (2 << 20);
    try (NativeMemory memory = NativeMemory.allocate(size, true)) {
      assertThat(memory.isOfReservedPages()).isFalse();
      assertThat(memory.slice(size - 8, 8).putLong(0, 42).getLong(0)).isEqualTo(42);
    }
  }

  private static int pageKibibytesAt(long address) throws IOException {
    String start = Long.toHexString(address) + "-";
    boolean found = false;
    for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
      found |= line.startsWith(start);
      if (found && line.startsWith("KernelPageSize:")) {
        return Integer.parseInt(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new AssertionError("nothing is mapped at " + start);
  }

  private static long freeHugePages() throws IOException {
    Path free = Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
    return Files.exists(free) ? Long.parseLong(Files.readString(free).strip()) : 0;
  }

  @Test
  void aFileThatIsThereAlreadyIsKept() throws Exception {
    Path file = Files.writeString(directory.resolve("somebody else's"), "kept");
    assertThatExceptionOfType(FileAlreadyExistsException.class)
        .isThrownBy(() -> NativeMemory.ofFile(file, 4096));
    assertThat(file).hasContent("kept");
  }

  @Test
  void slicesOfNativeMemoryShareItAndStayInside() throws Exception {
    TestDevice.open();
    NativeMemory memory = NativeMemory.allocate(8192, true);
    try (memory) {
      ByteBuffer slice = memory.slice(4096, 16).putLong(0, 42);
      assertThat(slice.capacity()).isEqualTo(16);
      assertThat(memory.slice(4096, 8).getLong()).isEqualTo(42);
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> memory.slice(8190, 3));
    }
    memory.close();
    assertThatIllegalStateException().isThrownBy(() -> memory.slice(0, 1));
  }

  @Test
  void theMemlockLimitIsReadAndExplained() throws Exception {
    TestDevice.open();
    MemlockLimit limit = MemlockLimit.read();
    assertThat(limit.softBytes()).isPositive().isLessThanOrEqualTo(limit.hardBytes());
    assertThat(new MemlockLimit(8 << 20, 8 << 20, false).remedy())
        .contains("8192 KiB", "ulimit -l", "CAP_IPC_LOCK");
    assertThat(new MemlockLimit(8 << 20, 8 << 20, true).remedy()).isEmpty();
    assertThat(new MemlockLimit(Long.MAX_VALUE, Long.MAX_VALUE, false).remedy()).isEmpty();
  }
}
