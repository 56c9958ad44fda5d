/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Extracts the native libraries from the jar into a directory of its own and loads them. Class
 * loaders therefore do not share files, and the directory is removed as soon as the libraries are
 * loaded.
 */
public final class NativeLibrary {
  private static final String JNI = "libdisni.so";
  private static final String SOFT_DEVICE = "libsoftverbs.so.1";
  /** The oldest glibc that the libraries run on; native-verbs/tests/glibc_floor.sh checks it. */
  private static final String GLIBC_FLOOR = "2.28";
  /** How the dynamic linker of musl begins what it says (ldso/dynlink.c there). */
  private static final Pattern MUSL = Pattern.compile("Error (loading shared library|relocating) ");

  private static boolean loaded;

  private NativeLibrary() {}

  /** Loads the JNI library once, from a file in the default directory; later calls do nothing. */
  public static void load() throws NativeLibraryException {
    load(NativeDirectory.DEFAULT);
  }

  /** Loads the JNI library once; later calls do nothing. */
  static synchronized void load(NativeDirectory directory) throws NativeLibraryException {
    if (!loaded) {
      withUnpacked(JNI, directory, file -> System.load(file.toString()));
      loaded = true;
    }
  }

  static void bindSoftDevice(NativeDirectory directory) throws VerbsException {
    withUnpacked(SOFT_DEVICE, directory, file -> Natives.bindProvider(file.toString()));
  }

  static void bindSystem() throws NativeLibraryException {
    try {
      Natives.bindProvider(null);
    } catch (VerbsException e) {
      throw new NativeLibraryException(
          e.getMessage()
              + "; install rdma-core's libraries, of 28 or newer (libibverbs1 and librdmacm1, or"
              + " libibverbs and librdmacm), or use the software device",
          e);
    }
  }

  @FunctionalInterface
  private interface Loader {
    void load(Path file) throws VerbsException;
  }

  private static void withUnpacked(String name, NativeDirectory base, Loader loader)
      throws NativeLibraryException {
    String resource = "/native/linux-" + architecture() + "/" + name;
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new NativeLibraryException("the jar has no "
            + resource
            + "; natives are bundled for linux-x86_64: on another platform build the jar there"
            + " with `mvn package`, which compiles native-verbs");
      }
      if (!Files.isDirectory(base.path())) { // JDK 17 refuses a link to a directory
        Files.createDirectories(base.path());
      }
      Path directory = Files.createTempDirectory(
          base.path().toAbsolutePath(),
          "shuffle-rdma-",
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      Path file = directory.resolve(name);
      try {
        Files.copy(in, file);
        loader.load(file);
      } catch (UnsatisfiedLinkError | VerbsException e) {
        throw new NativeLibraryException(refusal(file, base, e.getMessage()), e);
      } finally {
        Files.deleteIfExists(file);
        Files.deleteIfExists(directory);
      }
    } catch (NativeLibraryException e) {
      throw e;
    } catch (IOException e) {
      throw new NativeLibraryException(
          "cannot unpack " + name + " below " + base.path() + ": " + e
              + otherDirectory(base, "that this user can write and that has room"),
          e);
    }
  }

  /**
   * Composes a message of what the dynamic linker said about a file below {@code base}, and what to
   * do about it.
   */
  static String refusal(Path file, NativeDirectory base, @Nullable String reason) {
    String refused = "cannot load " + file + ": ";
    if (reason != null && reason.contains("failed to map segment")) {
      return isMountedNoexec(base.path())
          ? refused + base.path() + " is mounted noexec (" + reason + ")"
              + otherDirectory(base, "mounted without noexec")
          : refused + reason
              + "; this process may not map it as code, for which the likely cause is"
              + " SELinux or another policy of this system"
              + otherDirectory(base, "from which this user may run programs");
    }
    if (reason != null && MUSL.matcher(reason).find()) {
      return refused + reason
          + "; it needs glibc, and the C library of this system is musl (Alpine):"
          + " use an image of Debian, Ubuntu or RHEL";
    }
    return refused + reason
        + "; it needs Linux on " + architecture() + " with glibc " + GLIBC_FLOOR
        + " or newer (Debian 10, Ubuntu 20.04, RHEL 8): elsewhere build the jar there with"
        + " `mvn package`, which compiles native-verbs";
  }

  /** Whether the mount that holds the directory, of those on each other the last, has the option noexec. */
  private static boolean isMountedNoexec(Path directory) {
    try {
      Path real = directory.toRealPath();
      int depth = -1;
      boolean noexec = false;
      for (String line : Files.readAllLines(Path.of("/proc/self/mounts"))) {
        String[] fields = line.split(" ", -1);
        Path mount = Path.of(fields[1].replace("\\040", " "));
        if (real.startsWith(mount) && mount.getNameCount() >= depth) {
          depth = mount.getNameCount();
          noexec = List.of(fields[3].split(",", -1)).contains("noexec");
        }
      }
      return noexec;
    } catch (IOException e) {
      return false;
    }
  }

  private static String otherDirectory(NativeDirectory base, String what) {
    return "; set " + base.setting() + " to a directory " + what;
  }

  static String architecture() {
    String arch = System.getProperty("os.arch");
    return "amd64".equals(arch) ? "x86_64" : arch;
  }
}
