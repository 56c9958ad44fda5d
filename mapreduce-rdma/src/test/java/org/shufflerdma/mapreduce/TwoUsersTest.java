/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.nodeservice.ServiceProcess;

/**
 * Jobs of two users with the ownership that YARN's LinuxContainerExecutor gives: folders 02750 and files 0640 of the user and of
 * a group, in which the node service is a third user.
 */
@Timeout(120)
class TwoUsersTest {
  private static final int ALICE = 64_001;
  private static final int BOB = 64_002;
  private static final int SERVICE = 64_003;
  private static final int HADOOP = 64_100;
  private static final String MAP = "attempt_1700000000000_0001_m_000000_0";
  private static final Pattern OF_SERVICE = Pattern.compile(
      ".*/(node-service|rdma-transport)/target/(classes|[^/]*SNAPSHOT\\.jar)|.*/(slf4j|disni)[^/]*\\.jar");

  @TempDir
  Path directory;

  private Scene scene;
  private JobOutputs alices;
  private JobOutputs bobs;
  private byte[] bytes;

  @BeforeEach
  void start() throws Exception {
    assumeThat(System.getProperty("user.name")).as("root can be other users").isEqualTo("root");
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path home = Files.createDirectory(directory.resolve("service"));
    Files.setAttribute(home, "unix:uid", SERVICE);
    scene = new Scene(
        home,
        16 << 20,
        new ServiceProcess.Runner(
            List.of("setpriv", "--reuid=" + SERVICE, "--regid=" + SERVICE, "--groups=" + HADOOP),
            copyOfClassPath(directory.resolve("classes"))),
        directory.resolve("local"));
    alices = job("alice", ALICE);
    bobs = job("bob", BOB);
    bytes = alices.write(MAP, 500);
    own(alices, ALICE);
  }

  @AfterEach
  void stop() throws Exception {
    if (scene != null) {
      scene.close();
    }
  }

  /** What the service needs, where its user can read it. */
  private static String copyOfClassPath(Path folder) throws Exception {
    List<String> copies = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      if (OF_SERVICE.matcher(entry).matches()) {
        Path copy = folder.resolve(String.valueOf(copies.size()));
        copy(Path.of(entry), copy);
        copies.add(copy.toString());
      }
    }
    return String.join(File.pathSeparator, copies);
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Path copy = to.resolve(from.relativize(file).toString());
        Files.createDirectories(copy.getParent());
        Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
      }
    }
  }

  /** With its grant. */
  private JobOutputs job(String user, int uid) throws Exception {
    JobOutputs job = scene.job(user);
    job.grant().leave();
    own(job, uid);
    return job;
  }

  /** Gives everything below the user's folder the ownership of a container's files. */
  private static void own(JobOutputs job, int uid) throws Exception {
    String folder = job.userFolder().toString();
    run("chown", "-R", uid + ":" + HADOOP, folder);
    run("find", folder, "-type", "d", "-exec", "chmod", "2750", "{}", "+");
    run("find", folder, "-type", "f", "-exec", "chmod", "0640", "{}", "+");
  }

  private static void run(String... command) throws Exception {
    assertThat(Scene.statusOf(command))
        .as("status of %s", Arrays.asList(command))
        .isZero();
  }

  /** Whether a process of the user can do so. */
  private static boolean can(int uid, String... command) throws Exception {
    return Scene.statusOf(Stream.concat(
                Stream.of("setpriv", "--reuid=" + uid, "--regid=" + uid, "--clear-groups"),
                Arrays.stream(command))
            .toArray(String[]::new))
        == 0;
  }

  @Test
  void theServiceReadsForEachUserWhatIsTheUsers() throws Exception {
    byte[] ofBob = bobs.write(MAP, 600);
    own(bobs, BOB);
    try (NodeServiceClient client = scene.connect(alices.grant());
        NodeServiceClient other = scene.connect(bobs.grant())) {
      assertThat(Scene.fetch(client, MAP)).isEqualTo(bytes);
      assertThat(Scene.fetch(other, MAP)).isEqualTo(ofBob);
    }
  }

  @Test
  void reducersReadTheMemoryThatIsNamedToThemAndSeeNoOther() throws Exception {
    try (NodeServiceClient client = scene.connect(alices.grant())) {
      NodeServiceClient.Answer answer = client.next(client.fetch(0, Scene.HOST, List.of(MAP)));
      assertThat(can(ALICE, "cat", answer.file())).as("read its output").isTrue();
      for (int uid : new int[] {ALICE, BOB}) {
        assertThat(can(uid, "ls", scene.shared.toString())).as("list").isFalse();
        assertThat(can(uid, "truncate", "-s", "0", answer.file())).as("change").isFalse();
        assertThat(can(uid, "touch", scene.shared.resolve("new").toString()))
            .as("add")
            .isFalse();
      }
      assertThat(can(ALICE, "cat", alices.output("shuffle-rdma.grant").toString()))
          .isTrue();
      assertThat(can(BOB, "cat", alices.output("shuffle-rdma.grant").toString()))
          .isFalse();
    }
  }

  /** Bob would read Alice's output by the service, which may. */
  @Test
  void whatAUserPutsIntoTheirFoldersOpensNothingOfAnothers() throws Exception {
    try (NodeServiceClient client = scene.connect(bobs.grant())) {
      Path output = Files.createDirectories(bobs.output(MAP));
      own(bobs, BOB);
      for (String name : List.of("file.out", "file.out.index")) {
        Path original = alices.output(MAP).resolve(name);
        run("ln", "-s", original.toString(), output.resolve(name).toString());
      }
      assertThat(Scene.fetch(client, MAP)).isEqualTo("STAGING");
      for (String name : List.of("file.out", "file.out.index")) {
        run("rm", output.resolve(name).toString());
        run(
            "ln",
            alices.output(MAP).resolve(name).toString(),
            output.resolve(name).toString());
      }
      assertThat(Scene.fetch(client, MAP)).isEqualTo("STAGING");
      run("rm", "-r", bobs.folder().resolve("output").toString());
      run(
          "ln",
          "-s",
          alices.folder().resolve("output").toString(),
          bobs.output("").toString());
      assertThat(Scene.fetch(client, MAP)).isEqualTo("STAGING");
    }
    JobOutputs second = scene.job("bob", "application_1700000000000_0002");
    run(
        "cp",
        "-r",
        alices.folder().resolve("output").toString(),
        second.folder().toString());
    run("chown", "-R", ALICE + ":" + HADOOP, second.folder().toString()); // as if Alice had made it
    assertThatThrownBy(() -> scene.connect(second.grant())).isInstanceOf(IOException.class);
  }
}
