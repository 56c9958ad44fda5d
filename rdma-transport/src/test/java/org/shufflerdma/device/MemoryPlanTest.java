/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.verbs.MemlockLimit;
import org.shufflerdma.verbs.NativeLibrary;

class MemoryPlanTest {
  private static final String PREFIX = "app.rdma.";
  private static final long MIB = 1 << 20;
  private static final long GIB = 1 << 30;
  private static final MemlockLimit UNLIMITED =
      new MemlockLimit(Long.MAX_VALUE, Long.MAX_VALUE, false);
  private static final ExecutorMemory HOST = inContainer(64 * GIB);

  @BeforeAll
  static void loadTheLibraryThatReadsTheLimitOfLockedMemory() throws Exception {
    NativeLibrary.load();
  }

  private static RdmaSettings settings(String... namesAndValues) {
    Map<String, String> conf = new java.util.HashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      conf.put(PREFIX + namesAndValues[i], namesAndValues[i + 1]);
    }
    return RdmaSettings.from(conf, PREFIX);
  }

  private static ExecutorMemory inContainer(long containerBytes) {
    return memory(UNLIMITED, containerBytes, null, false, 1);
  }

  private static ExecutorMemory withOverhead(long overheadBytes, boolean residentCounts) {
    return memory(
        UNLIMITED,
        64 * GIB,
        new ExecutorMemory.Overhead(overheadBytes, "app.memoryOverhead"),
        residentCounts,
        1);
  }

  private static ExecutorMemory withOverhead(long overheadBytes) {
    return withOverhead(overheadBytes, false);
  }

  private static ExecutorMemory onYarn(long overheadBytes) {
    return withOverhead(overheadBytes, true);
  }

  private static ExecutorMemory lockable(long bytes) {
    return memory(new MemlockLimit(bytes, bytes, false), 64 * GIB, null, false, 1);
  }

  private static ExecutorMemory besideOthers(int executorsByCores) {
    return memory(UNLIMITED, 64 * GIB, null, false, executorsByCores);
  }

  /** What the tests vary, on a host of 64 GiB with heaps of 8 GiB. */
  private static ExecutorMemory memory(
      MemlockLimit memlock,
      long containerBytes,
      ExecutorMemory.@Nullable Overhead overhead,
      boolean residentCounts,
      int executorsByCores) {
    return new ExecutorMemory(
        memlock,
        containerBytes,
        64 * GIB,
        8 * GIB,
        overhead,
        residentCounts,
        400 * MIB,
        executorsByCores);
  }

  private static void assertAll(MemoryPlan plan, long bytes, String reason) {
    assertThat(plan.maxRegisteredBytes()).isEqualTo(bytes);
    assertThat(plan.toString()).contains(reason);
  }

  @Test
  void whatIsSetIsTakenAndHoldsTheFetchBuffersToo() {
    MemoryPlan plan = MemoryPlan.of(settings("maxRegisteredBytes", "2g"), HOST, true);
    assertAll(plan, 2 * GIB, "app.rdma.maxRegisteredBytes=2048 MiB");
    assertThat(plan.poolBytes()).as("a quarter").isEqualTo(512 * MIB);
    assertThat(plan.stagingBytes()).as("an eighth").isEqualTo(256 * MIB);
  }

  @Test
  void ofLittleHalfIsForFetchBuffers() {
    MemoryPlan plan = MemoryPlan.of(settings("maxRegisteredBytes", "16m"), HOST, true);
    assertThat(plan.poolBytes()).isEqualTo(8 * MIB);
    assertThat(plan.stagingBytes()).isEqualTo(2 * MIB);
    assertThat(plan.outputBytes()).isEqualTo(6 * MIB);
  }

  @Test
  void ofMoreThanThatFetchBuffersGet64MebibytesUntilAQuarterIsMore() {
    assertThat(MemoryPlan.of(settings("maxRegisteredBytes", "200m"), HOST, true).poolBytes())
        .isEqualTo(64 * MIB);
    assertThat(MemoryPlan.of(settings("maxRegisteredBytes", "400m"), HOST, true).poolBytes())
        .isEqualTo(100 * MIB);
  }

  @Test
  void fetchBuffersThatAreSetAreAtMostHalf() {
    RdmaSettings settings = settings("maxRegisteredBytes", "1g", "poolBytes", "1g");
    assertThat(MemoryPlan.of(settings, HOST, true).poolBytes()).isEqualTo(512 * MIB);
  }

  @Test
  void memoryForStagingThatIsSetIsAtMostHalfOfWhatFetchBuffersLeave() {
    RdmaSettings large =
        settings("maxRegisteredBytes", "1g", "poolBytes", "512m", "stagingBytes", "1g");
    assertThat(MemoryPlan.of(large, HOST, true).stagingBytes()).isEqualTo(256 * MIB);
    RdmaSettings none = settings("maxRegisteredBytes", "1g", "stagingBytes", "0");
    assertThat(MemoryPlan.of(none, HOST, true).stagingBytes()).isZero();
    assertThat(MemoryPlan.of(settings("maxRegisteredBytes", "1t"), HOST, true).stagingBytes())
        .isEqualTo(GIB);
  }

  @Test
  void withoutLimitItIsAQuarterOfTheHost() {
    assertAll(MemoryPlan.of(settings(), HOST, true), 16 * GIB, "a quarter of the host's 64 GiB");
  }

  @Test
  void executorsForWhichCoresAndMemoryAreEnoughShareTheQuarter() {
    assertAll(MemoryPlan.of(settings(), besideOthers(4), true), 4 * GIB, "shared by 4 executors");
    assertAll(
        MemoryPlan.of(settings(), besideOthers(40), true),
        2 * GIB,
        "a quarter of the host's 64 GiB, shared by 8 executors");
  }

  @Test
  void theContainersLimitLeavesRoomForTheHeapAndTheRestOfTheProcess() {
    MemoryPlan plan = MemoryPlan.of(settings(), inContainer(10 * GIB), true);
    assertAll(plan, GIB, "half of what the container's 10 GiB leave beside the 8192 MiB");
    assertThat(plan.poolBytes()).isEqualTo(256 * MIB);
  }

  @Test
  void aHeapAsLargeAsItsContainerLeavesNearlyNothing() {
    MemoryPlan plan = MemoryPlan.of(settings(), inContainer(8 * GIB), true);
    assertAll(plan, 64 << 10, "container");
  }

  @Test
  void theOverheadThatSparkAskedForIsShared() {
    assertAll(
        MemoryPlan.of(settings(), withOverhead(384 * MIB), true),
        192 * MIB,
        "half of app.memoryOverhead, which is 384 MiB");
  }

  @Test
  void whereResidentPagesCountTheyDoSoOnADeviceThatPinsNothing() {
    assertAll(
        MemoryPlan.of(settings(), onYarn(384 * MIB), false),
        192 * MIB,
        "half of app.memoryOverhead, which is 384 MiB");
    assertAll(
        MemoryPlan.of(settings("maxRegisteredBytes", "1g"), onYarn(384 * MIB), false),
        GIB,
        "app.rdma.maxRegisteredBytes");
    assertAll(MemoryPlan.of(settings(), withOverhead(384 * MIB), false), 64 * GIB, "pins nothing");
  }

  @Test
  void theLimitOfLockedMemoryBindsWhatIsPinnedAlone() {
    assertAll(
        MemoryPlan.of(settings(), lockable(8 * MIB), true),
        7 * MIB,
        "the limit of locked memory is 8192 KiB; raise it with `ulimit -l");
    MemoryPlan unpinned = MemoryPlan.of(settings(), lockable(8 * MIB), false);
    assertAll(unpinned, 64 * GIB, "pins nothing");
  }

  @Test
  void itSaysWhatQueuesTakeAtMostBesideIt() {
    RdmaSettings settings = settings("maxRegisteredBytes", "1g");
    long bytes = TransportSettings.mostQueueBytes(settings);
    assertThat(bytes)
        .isGreaterThan(20 * MIB)
        .isLessThan(TransportSettings.mostQueueBytes(settings("maxConnections", "8192")));
    assertThat(MemoryPlan.of(settings, HOST, true).queueBytes()).isEqualTo(bytes);
  }

  @ParameterizedTest
  @CsvSource({
    "22544384, 22 MiB", // 21.5 MiB
    "23068672, 22 MiB",
    "1023, 1 KiB",
    "10737418240, 10 GiB",
    "10737418241, 11 GiB"
  })
  void whatQueuesTakeAtMostIsRoundedUp(long bytes, String text) {
    assertThat(new MemoryPlan(GIB, MIB, MIB, bytes, "a test").toString())
        .contains(", beside queues of " + text + " at most: ");
  }

  @Test
  void fetchBuffersFollowWhatTasksFetchAtATime() {
    assertThat(MemoryPlan.of(settings(), HOST, false).poolBytes()).isEqualTo(800 * MIB);
    assertThat(MemoryPlan.of(settings(), withOverhead(GIB), false).poolBytes())
        .as("they are memory of the process on every device")
        .isEqualTo(512 * MIB);
  }
}
