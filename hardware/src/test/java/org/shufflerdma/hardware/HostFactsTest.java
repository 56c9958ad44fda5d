/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class HostFactsTest extends HostScene {
  private HostFacts host() {
    return new HostFacts(root);
  }

  @Test
  void iommuIsWhatTheKernelUsesAndNotWhatItWasAsked() throws IOException {
    write("proc/cmdline", "root=/dev/sda1 intel_iommu=on iommu=pt quiet\n");
    assertThat(host().iommu())
        .isEqualTo("off: the kernel uses none; command line: intel_iommu=on iommu=pt");
    Files.createDirectories(root.resolve("sys/class/iommu/dmar0"));
    assertThat(host().iommu()).startsWith("on: dmar0; ");
  }

  @Test
  void groupOfADeviceTellsItsTranslation() throws IOException {
    write("sys/kernel/iommu_groups/17/type", "identity\n");
    Path device = root.resolve("sys/class/infiniband/mlx5_0/device");
    Files.createDirectories(device);
    assertThat(host().iommuOfDevice("mlx5_0")).isEqualTo("none");
    Files.createSymbolicLink(
        device.resolve("iommu_group"), root.resolve("sys/kernel/iommu_groups/17"));
    assertThat(host().iommuOfDevice("mlx5_0")).isEqualTo("identity");
    Files.createDirectories(root.resolve("sys/class/iommu/dmar0"));
    assertThat(host().iommuTranslates("mlx5_0")).as("iommu=pt").isFalse();
    write("sys/kernel/iommu_groups/17/type", "DMA-FQ\n");
    assertThat(host().iommuTranslates("mlx5_0")).isTrue();
  }

  @Test
  void coreOfAVendorIsTold() throws IOException {
    write("sys/module/ib_core/taint", "\n");
    assertThat(host().memoryCore()).isEqualTo("the kernel's own ib_core");
    write("sys/module/ib_core/taint", "OE\n");
    assertThat(host().memoryCore()).isEqualTo("ib_core of a vendor, not the kernel's");
  }

  @Test
  void mountIsTheInnermostAndLastAndTellsDax() throws IOException {
    Path outer = root.toRealPath().resolve("spark");
    Path directory = Files.createDirectories(outer.resolve("local"));
    write(
        "proc/self/mounts",
        "overlay / overlay rw 0 0\n"
            + "/dev/sdb " + outer + " ext4 rw,noatime 0 0\n"
            + "/dev/pmem0 " + directory + " xfs rw,dax=never 0 0\n"
            + "/dev/pmem1 " + directory + " xfs rw,dax=always 0 0\n");
    assertThat(host().mountOf(directory))
        .isEqualTo(new HostFacts.Mount(directory.toString(), "xfs", "rw,dax=always"));
    assertThat(host().mountOf(directory).dax()).isTrue();
    HostFacts.Mount around = host().mountOf(outer);
    assertThat(around.type()).isEqualTo("ext4");
    assertThat(around.dax()).isFalse();
  }

  @Test
  void portsAreListedWithTheirStates() throws IOException {
    write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    write("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
    assertThat(host().devices()).containsExactly("mlx5_0:1 is 4: ACTIVE", "mlx5_1:1 is 1: DOWN");
  }

  @Test
  void containersHaveLessMemoryThanTheHost() throws IOException {
    write("proc/meminfo", "MemTotal: 64000 kB\nMemAvailable: 32000 kB\n");
    assertThat(host().memoryBytes()).isEqualTo(64_000 << 10);
    write("proc/self/cgroup", "0::/job/step\n");
    write("sys/fs/cgroup/job/memory.max", "9000000\n");
    write("sys/fs/cgroup/job/memory.current", "5000000\n");
    write("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 300000\n");
    write("sys/fs/cgroup/job/step/memory.max", "max\n");
    write("sys/fs/cgroup/job/step/memory.current", "4000000\n");
    assertThat(host().memoryBytes()).isEqualTo(9_000_000);
    assertThat(host().availableBytes()).isEqualTo(4_300_000);
  }

  @Test
  void containersOfTheOldControlGroupsHaveLessMemoryToo() throws IOException {
    write("proc/meminfo", "MemTotal: 64000 kB\nMemAvailable: 32000 kB\n");
    // Of the host's path the container sees nothing, and its own group as the mount's top.
    write("proc/self/cgroup", "5:cpu:/docker/1\n4:memory:/docker/1\n0::/\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9000000\n");
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000000\n");
    assertThat(host().memoryBytes()).isEqualTo(9_000_000);
    assertThat(host().availableBytes()).isEqualTo(4_000_000);
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assertThat(host().availableBytes()).isEqualTo(32_000 << 10);
  }

  @Test
  void kernelTellsWhetherRegistrationMakesFilesDirty() throws IOException {
    write("proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
    assertThat(host().registeredFiles()).contains("makes each page dirty");
    write("proc/sys/kernel/osrelease", "6.1.0-56-amd64\n");
    assertThat(host().registeredFiles()).contains("makes each page dirty");
    write("proc/sys/kernel/osrelease", "6.8.0\n");
    assertThat(host().registeredFiles()).startsWith("not known of this version");
    write("proc/sys/kernel/osrelease", "6.12.118\n");
    assertThat(host().registeredFiles()).contains("leaves the pages clean");
    write("proc/sys/kernel/osrelease", "7.0.1\n");
    assertThat(host().registeredFiles()).contains("leaves the pages clean");
  }

  @Test
  void limitsOfLockedMemoryAreToldWithWhetherTheyBind() throws IOException {
    write("proc/self/limits", """
        Limit                     Soft Limit           Hard Limit           Units
        Max locked memory         65536                unlimited            bytes
        """);
    write("proc/self/status", "Name:\tjava\nCapEff:\t0000000000000000\n");
    assertThat(host().lockedMemory()).isEqualTo("soft 64 KiB, hard unlimited; no CAP_IPC_LOCK");
    write("proc/self/status", "Name:\tjava\nCapEff:\t0000000000004000\n");
    assertThat(host().lockedMemory()).endsWith("; CAP_IPC_LOCK, so that no limit binds");
  }

  @Test
  void nodeOfThisThreadIsThatOfItsProcessor() throws IOException {
    write("sys/devices/system/node/online", "0-1\n");
    write("proc/self/status", "Cpus_allowed_list:\t0-31\nMems_allowed_list:\t0-1\n");
    // After the name come the fields from 3 on; the processor is field 39.
    write("proc/thread-self/stat", "7 (a (b) c) S " + "0 ".repeat(35) + "17 0 0\n");
    Files.createDirectories(root.resolve("sys/devices/system/cpu/cpu17/node1"));
    assertThat(host().numa())
        .isEqualTo("nodes 0-1; this process may use processors 0-31 and memory of nodes 0-1;"
            + " it runs on node 1");
  }

  @Test
  void addressesAmongMountOptionsAreNotTold() {
    HostFacts.Mount mount =
        new HostFacts.Mount("/data", "nfs4", "rw,noatime,clientaddr=10.9.8.7,addr=10.9.8.6");
    assertThat(mount.flags()).isEqualTo("rw,noatime");
  }

  @Test
  void whatIsNotThereIsUnknown() throws IOException {
    assertThat(host().kernel()).isEqualTo("unknown");
    assertThat(host().devices()).isEmpty();
    assertThat(host().registeredFiles()).isEqualTo("unknown");
    assertThat(host().lockedMemory()).isEqualTo("unknown; no CAP_IPC_LOCK");
    assertThat(host().numa()).endsWith("runs on node unknown");
    write("proc/self/mounts", "");
    assertThat(host().mountOf(root).type()).isEqualTo("unknown");
  }
}
