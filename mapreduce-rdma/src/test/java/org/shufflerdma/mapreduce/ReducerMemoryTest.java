/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.nodeservice.NodeService;
import org.shufflerdma.verbs.Jvm;

/** The memory that a node service shares with reducers: its bounds, and what becomes of it. */
@Timeout(180)
class ReducerMemoryTest {
  private static final int MIB = 1 << 20;

  @TempDir
  Path directory;

  /** Outputs of so many bytes, by their names. */
  private static List<String> write(JobOutputs job, int count, int lengthBytes) throws IOException {
    job.grant().leave();
    List<String> maps = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      maps.add("attempt_%d_%d".formatted(lengthBytes, i));
      job.write(maps.get(i), lengthBytes);
    }
    return maps;
  }

  @Test
  void whatFitsALittleMemoryComesAndNothingStaysOfIt() throws Exception {
    try (Scene scene = new Scene(directory, MIB)) {
      JobOutputs job = scene.job("alice");
      List<String> small = write(job, 20, 20_000);
      List<String> large = write(job, 2, 2 * MIB);
      NodeServiceClient killed = scene.connect(job.grant());
      try (NodeServiceClient client = scene.connect(job.grant())) {
        assertThat(Scene.fetch(client, 0, large).values())
            .allMatch(String.class::isInstance, "more than all memory");
        Set<Integer> come = new HashSet<>();
        Deadline deadline = Deadline.afterMs(20_000);
        while (come.size() < small.size() && !deadline.expired()) {
          Scene.fetch(client, 0, small).forEach((output, bytes) -> {
            if (bytes instanceof byte[]) {
              come.add(output);
            }
          });
        }
        assertThat(come).hasSameSizeAs(small);
        int request = killed.fetch(0, Scene.HOST, small);
        for (int i = 0; i < small.size(); i++) {
          killed.next(request);
        }
        assertThat(scene.slabs()).isNotEmpty();
        assertThat(scene.service.metric("registered_bytes")).isBetween(1L, (long) MIB);
        killed.close(); // with what it holds, as when its process is killed
        scene.awaitNoMemory(15);
        assertThat(scene.service.metric("reducers")).isEqualTo(1);
      }
    }
  }

  /** Each reads outputs as fast as it can, and releases them. */
  @Test
  void jobsShareALittleMemory() throws Exception {
    ExecutorService reducers = Executors.newFixedThreadPool(2);
    try (Scene scene = new Scene(directory, 4 * MIB)) {
      List<Future<Integer>> read = new ArrayList<>();
      for (String user : List.of("alice", "bob")) {
        JobOutputs job = scene.job(user);
        List<String> maps = write(job, 8, 100_000);
        Callable<Integer> reducer = () -> countOfOutputsIn(scene, job, maps, 3_000);
        read.add(reducers.submit(reducer));
      }
      for (Future<Integer> ofJob : read) {
        assertThat(ofJob.get(60, TimeUnit.SECONDS)).as("outputs of a job").isPositive();
      }
    } finally {
      reducers.shutdownNow();
    }
  }

  private static int countOfOutputsIn(Scene scene, JobOutputs job, List<String> maps, int ms)
      throws IOException {
    int count = 0;
    Deadline deadline = Deadline.afterMs(ms);
    try (NodeServiceClient client = scene.connect(job.grant())) {
      while (!deadline.expired()) {
        for (Object come : Scene.fetch(client, 0, maps).values()) {
          count += come instanceof byte[] ? 1 : 0;
        }
      }
    }
    return count;
  }

  /** As one that has been stopped, or wants to keep others from their outputs. */
  @Test
  void whoHoldsOutputsAndSaysNothingGivesWayToOthers() throws Exception {
    try (Scene scene = new Scene(directory, MIB)) {
      JobOutputs holding = scene.job("alice");
      List<String> all =
          write(holding, 4, 240_000); // each takes a slab of its own, and there is room for less
      List<String> wanted = write(holding, 4, 230_000); // which may come into the same memory
      try (HostOutputs silent = new HostOutputs(holding.grant(), scene.service.port, 0);
          NodeServiceClient client = scene.connect(holding.grant())) {
        silent.ask(Scene.HOST, all);
        int held = 0;
        InputStream ofSilent = InputStream.nullInputStream();
        for (int i = 0; i < all.size(); i++) {
          NodeServiceClient.Answer answer = silent.next();
          if (answer.refusal() == null) {
            held++;
            ofSilent = silent.open(answer);
          }
        }
        assertThat(held).isPositive();
        assertThat(scene.service.metric("reducer_held_bytes"))
            .isBetween(held * 240_000L, (long) MIB);
        assertThat(scene.service.metric("reducer_shortages_total")).isPositive();
        Deadline deadline = Deadline.afterMs(60_000);
        while (scene.service.metric("reducers") > 1 && !deadline.expired()) {
          Scene.fetch(client, 0, wanted); // for all of which there is no room beside what is held
        }
        assertThat(scene.service.metric("reducers")).as("connections").isEqualTo(1);
        while (scene.service.metric("reducer_held_bytes") > 0 && !deadline.expired()) {
          Thread.sleep(10); // the last release is under way
        }
        assertThat(scene.service.metric("reducer_held_bytes")).isZero();
        Object bytes = "";
        while (!(bytes instanceof byte[]) && !deadline.expired()) {
          bytes = Scene.fetch(client, wanted.get(0));
        }
        assertThat(bytes).isInstanceOf(byte[].class);
        InputStream others = ofSilent;
        assertThatThrownBy(() -> others.read(new byte[100]))
            .as("bytes that may be others'")
            .isInstanceOf(IOException.class);
      }
    }
  }

  @Test
  void whoKeepsOutputsWhateverItSaysGivesWayToOthers() throws Exception {
    try (Scene scene = new Scene(directory, MIB)) {
      JobOutputs keeping = scene.job("alice");
      List<String> all = write(keeping, 4, 240_000); // there is room for less
      JobOutputs job = scene.job("bob");
      List<String> wanted = write(job, 4, 230_000);
      try (NodeServiceClient keeper = scene.connect(keeping.grant());
          NodeServiceClient client = scene.connect(job.grant())) {
        int request = keeper.fetch(0, Scene.HOST, all);
        for (int i = 0; i < all.size(); i++) {
          keeper.next(request);
        }
        Deadline deadline = Deadline.afterMs(150_000);
        while (scene.service.metric("reducers") > 1 && !deadline.expired()) {
          try {
            keeper.stay();
          } catch (NodeServiceClient.LostOutputsException e) {
            break; // it has been told
          }
          Scene.fetch(client, 0, wanted);
          Thread.sleep(500);
        }
        Object bytes = "";
        while (!(bytes instanceof byte[]) && !deadline.expired()) {
          bytes = Scene.fetch(client, wanted.get(0));
        }
        assertThat(bytes).isInstanceOf(byte[].class);
        assertThat(scene.service.metric("reducers")).isEqualTo(1);
      }
    }
  }

  @Test
  void whoReadsSlowlyKeepsItsOutputs() throws Exception {
    try (Scene scene = new Scene(directory, MIB)) {
      JobOutputs slow = scene.job("alice");
      slow.grant().leave();
      List<String> all = new ArrayList<>();
      Map<String, byte[]> written = new HashMap<>();
      for (int i = 0; i < 4; i++) { // there is room for less
        all.add("attempt_1_m_%d_0".formatted(i));
        written.put(all.get(i), slow.write(all.get(i), 240_000));
      }
      JobOutputs job = scene.job("bob");
      List<String> wanted = write(job, 4, 230_000);
      try (HostOutputs reducer = new HostOutputs(slow.grant(), scene.service.port, 0);
          NodeServiceClient client = scene.connect(job.grant())) {
        reducer.ask(Scene.HOST, all);
        InputStream in = InputStream.nullInputStream();
        byte[] expected = {};
        for (int i = 0; i < all.size(); i++) {
          NodeServiceClient.Answer answer = reducer.next();
          if (answer.refusal() == null) {
            in = reducer.open(answer);
            expected = Objects.requireNonNull(written.get(all.get(answer.output())));
          }
        }
        byte[] read = new byte[expected.length];
        int step = 240_000 / 13 + 1;
        for (int at = 0; at < read.length; at += step) {
          assertThat(in.readNBytes(read, at, Math.min(step, read.length - at))).isPositive();
          Scene.fetch(client, 0, wanted);
          Thread.sleep(1_000);
        }
        assertThat(read).hasSize(240_000).isEqualTo(expected);
        assertThat(scene.service.metric("reducer_shortages_total")).isPositive();
        assertThat(scene.service.metric("reducers")).isEqualTo(2);
      }
    }
  }

  /** The file system has less than the service may register. */
  @Test
  void aFullFileSystemIsNoticedBeforeItsMemoryIsUsed() throws Exception {
    assumeThat(System.getProperty("user.name")).as("root can mount").isEqualTo("root");
    Path mounted = Files.createDirectory(directory.resolve("mounted"));
    int status = Scene.statusOf(
        "mount", "-t", "tmpfs", "-o", "size=10m,mode=711", "tmpfs", mounted.toString());
    assumeThat(status).as("status of mount, which the kernel may refuse root").isZero();
    try (Scene scene = new Scene(directory, 64 * MIB, mounted)) {
      JobOutputs job = scene.job("alice");
      List<String> maps = write(job, 40, 400_000);
      try (NodeServiceClient client = scene.connect(job.grant())) {
        int request = client.fetch(0, Scene.HOST, maps);
        int refused = 0;
        for (int i = 0; i < maps.size(); i++) {
          refused += client.next(request).refusal() == null ? 0 : 1;
        }
        assertThat(refused).isBetween(1, maps.size() - 1);
        for (int i = 0; i < maps.size(); i++) {
          client.release(request, i);
        }
        scene.assertServes(job);
      }
    } finally {
      Scene.statusOf("umount", "-l", mounted.toString());
    }
  }

  @Test
  void theFolderIsOneServicesAndIsCleanedOfWhatAKilledOneLeft() throws Exception {
    try (Scene scene = new Scene(directory, 16 * MIB)) {
      JobOutputs job = scene.job("alice");
      write(job, 1, 1_000);
      scene.assertServes(job);
      assertThat(scene.slabs()).isNotEmpty();
      assertRefused(scene, scene.shared + " (service.sharedMemory) is another service's");
      scene.assertServes(job);
      scene.service.kill();
      assertThat(scene.slabs()).isNotEmpty();
      scene.service.start();
      assertThat(scene.slabs()).isEmpty();
      scene.assertServes(job);
    }
  }

  /** A lock for reading excludes the service's own, and takes no more than a file that can be opened for reading. */
  @Test
  void nobodyElseCanHoldTheLockOfTheFolder() throws Exception {
    try (Scene scene = new Scene(directory, 16 * MIB)) {
      assertThat(Files.getPosixFilePermissions(scene.shared.resolve("lock")))
          .isEqualTo(PosixFilePermissions.fromString("rw-------"));
    }
  }

  /** Another service with the same settings says why it would serve no reducers. It ends, as the port is taken. */
  private static void assertRefused(Scene scene, String why) throws Exception {
    try (Jvm second =
        Jvm.start(Map.of(), NodeService.class, scene.service.settings().toString())) {
      assertThat(second.end())
          .contains("Reducers are not served until this is mended: " + why)
          .contains("The node service cannot start: ");
      assertThat(second.exitValue()).isEqualTo(1);
    }
  }

  /** Whoever may write beside the folder can make one of its name before the service does. */
  @Test
  void aServiceWithoutItsFolderServesReducersAsSoonAsItHasOne() throws Exception {
    try (Scene scene = new Scene(directory, 16 * MIB)) {
      JobOutputs job = scene.job("alice");
      List<String> maps = write(job, 1, 1_000);
      scene.service.kill();
      scene.clear();
      Path moved = Files.move(scene.shared, directory.resolve("moved"));
      Files.createSymbolicLink(scene.shared, moved);
      scene.service.start();
      assertHasNoMemory(scene, job, maps);
      Files.delete(scene.shared);
      Files.move(moved, scene.shared);
      Files.setPosixFilePermissions(scene.shared, PosixFilePermissions.fromString("rwxr-xr-x"));
      assertHasNoMemory(scene, job, maps);
      Files.setPosixFilePermissions(scene.shared, PosixFilePermissions.fromString("rwx--x--x"));
      Deadline deadline = Deadline.afterMs(60_000);
      while (scene.service.metric("shared_memory_unusable") > 0 && !deadline.expired()) {
        Thread.sleep(200); // the service looks for the folder also if no reducer asks for memory
      }
      assertThat(scene.service.metric("shared_memory_unusable")).isZero();
      Object come = "";
      while (!(come instanceof byte[]) && !deadline.expired()) {
        Thread.sleep(200);
        come = fetchAlone(scene, job, maps);
      }
      assertThat(come).isInstanceOf(byte[].class);
      scene.clear();
      Files.delete(scene.shared.resolve("lock"));
      Files.delete(scene.shared); // as systemd-logind does when a user logs out
      // What has been deleted is used no more after that.
      Await.atMost(30_000, () -> scene.service.metric("registered_bytes") == 0);
      assertThat(fetchAlone(scene, job, maps)).isInstanceOf(byte[].class);
      assertThat(Files.getPosixFilePermissions(scene.shared))
          .as("of the folder that was made anew")
          .isEqualTo(PosixFilePermissions.fromString("rwx--x--x"));
    }
  }

  private static void assertHasNoMemory(Scene scene, JobOutputs job, List<String> maps)
      throws Exception {
    assertThat(fetchAlone(scene, job, maps)).as("refusal").isInstanceOf(String.class);
    assertThat(scene.service.metric("shared_memory_unusable")).isEqualTo(1);
  }

  private static Object fetchAlone(Scene scene, JobOutputs job, List<String> maps)
      throws IOException {
    try (NodeServiceClient client = scene.connect(job.grant())) {
      return Scene.fetch(client, maps.get(0));
    }
  }

  /** The service's own user can do so. The reducer takes the rest by HTTP. */
  @Test
  void aTruncatedSlabEndsEarlyForItsReader() throws Exception {
    try (Scene scene = new Scene(directory, 16 * MIB)) {
      JobOutputs job = scene.job("alice");
      List<String> maps = write(job, 1, 100_000);
      try (NodeServiceClient client = scene.connect(job.grant())) {
        int request = client.fetch(0, Scene.HOST, maps);
        NodeServiceClient.Answer answer = client.next(request);
        byte[] bytes = Scene.bytesOf(answer);
        try (FileChannel file = FileChannel.open(Path.of(answer.file()), StandardOpenOption.READ)) {
          InputStream in = new SlabInputStream(file, answer.offset(), answer.lengthBytes());
          assertThat(in.readNBytes(40_000)).isEqualTo(Arrays.copyOf(bytes, 40_000));
          try (FileChannel other =
              FileChannel.open(Path.of(answer.file()), StandardOpenOption.WRITE)) {
            other.truncate(answer.offset() + 50_000);
          }
          assertThatThrownBy(in::readAllBytes).isInstanceOf(EOFException.class);
          for (String slab : scene.slabs()) {
            FileChannel.open(scene.shared.resolve(slab), StandardOpenOption.WRITE)
                .truncate(0)
                .close();
          }
        }
        assertThat(Scene.fetch(client, 0, maps).get(0))
            .as("into no memory")
            .isInstanceOf(String.class);
      }
      JobOutputs other = scene.job("bob");
      other.grant().leave();
      scene.assertServes(other);
    }
  }
}
