/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registrar;
import org.shufflerdma.node.Registration;

/**
 * A process of another user that registers folders. Its class path is a copy that everybody may read.
 *
 * <p>Arguments: SOCKET APPLICATION SECRET DEVICE-SECRET SUBDIRS DIR...
 */
final class RegisteringProcess {
  private static final int TIMEOUT_MS = 60_000;

  private final List<String> classPath = new ArrayList<>();

  /** @param folder everybody may enter it */
  RegisteringProcess(Path folder) throws IOException {
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      Path from = Path.of(entry);
      if (Files.exists(from)) {
        Path to = folder.resolve(classPath.size() + "-" + from.getFileName());
        copy(from, to);
        classPath.add(to.toString());
      }
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.walkFileTree(from, new SimpleFileVisitor<>() {
      @Override
      public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
          throws IOException {
        Files.createDirectories(to.resolve(from.relativize(directory).toString()));
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
          throws IOException {
        Files.copy(
            file, from.equals(file) ? to : to.resolve(from.relativize(file).toString()));
        return FileVisitResult.CONTINUE;
      }
    });
  }

  /** Registers as the user and returns why it was refused; empty if it was not. */
  String register(
      int user, Path socket, LocalIdentity identity, byte[] deviceSecret, OutputFolders folders)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(
        "setpriv",
        "--reuid=" + user,
        "--regid=" + user,
        "--clear-groups",
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx64m",
        "-cp",
        String.join(File.pathSeparator, classPath),
        RegisteringProcess.class.getName(),
        socket.toString(),
        identity.appId(),
        new String(identity.secret(), StandardCharsets.UTF_8),
        new String(deviceSecret, StandardCharsets.UTF_8),
        Integer.toString(folders.subDirs())));
    folders.localDirs().forEach(dir -> command.add(dir.toString()));
    Process process = new ProcessBuilder(command)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
    String answer = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (!process.waitFor(TIMEOUT_MS, TimeUnit.MILLISECONDS) || process.exitValue() != 0) {
      process.destroyForcibly();
      throw new IllegalStateException("a registering process ended with " + answer);
    }
    return answer;
  }

  public static void main(String[] arguments) throws IOException {
    LocalIdentity identity =
        new LocalIdentity(arguments[1], "1", arguments[2].getBytes(StandardCharsets.UTF_8));
    Registration registration = new Registration(
        identity.appId(),
        identity.forNodeService().secret(),
        arguments[3].getBytes(StandardCharsets.UTF_8),
        new OutputFolders(
            Arrays.stream(arguments).skip(5).map(Path::of).toList(),
            Integer.parseInt(arguments[4])));
    try {
      Registrar.register(Path.of(arguments[0]), registration, Deadline.afterMs(TIMEOUT_MS));
    } catch (ProtocolException e) {
      System.out.print(e.getMessage());
    }
  }
}
