/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.HashMap;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Loads this program once more, together with the SLF4J that lies in its jar as a jar of its own.
 * Spark's JVMs have an SLF4J on their class path, by which the plugin logs, and never look into the
 * inner jar; a host that has only the plugin's jar has no other. Any thread may use it.
 */
final class CarriedLogging extends ClassLoader {
  private static final String INNER_JAR = "slf4j-api.jar";

  /** The property by which SLF4J is told not to warn that nothing takes its log lines. */
  private static final String VERBOSITY = "slf4j.internal.verbosity";

  private final ClassLoader outer;
  private final Map<String, byte[]> inner;

  private CarriedLogging(ClassLoader outer, Map<String, byte[]> inner) {
    super(ClassLoader.getPlatformClassLoader());
    this.outer = outer;
    this.inner = inner;
  }

  /** Returns whether the class path has no SLF4J. */
  static boolean isNeeded() {
    try {
      Class.forName("org.slf4j.LoggerFactory", false, CarriedLogging.class.getClassLoader());
      return false;
    } catch (ClassNotFoundException e) {
      return true;
    }
  }

  /** Runs the main method of another copy of a class, one that finds the inner jar's SLF4J. */
  static void runMain(Class<?> main, String[] args)
      throws IOException, ReflectiveOperationException {
    System.setProperty(VERBOSITY, System.getProperty(VERBOSITY, "ERROR"));
    try (InputStream jar = main.getResourceAsStream(INNER_JAR)) {
      if (jar == null) {
        throw new IOException("the class path has no SLF4J, and the jar carries none");
      }
      new CarriedLogging(main.getClassLoader(), classesOf(new JarInputStream(jar)))
          .loadClass(main.getName())
          .getMethod("main", String[].class)
          .invoke(null, (Object) args);
    }
  }

  private static Map<String, byte[]> classesOf(JarInputStream jar) throws IOException {
    Map<String, byte[]> classes = new HashMap<>();
    for (JarEntry entry = jar.getNextJarEntry(); entry != null; entry = jar.getNextJarEntry()) {
      classes.put(entry.getName(), jar.readAllBytes());
    }
    return classes;
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    String path = name.replace('.', '/') + ".class";
    try {
      byte[] bytes = inner.containsKey(path) ? inner.get(path) : outerBytes(path);
      if (bytes == null) {
        throw new ClassNotFoundException(name);
      }
      return defineClass(name, bytes, 0, bytes.length);
    } catch (IOException e) {
      throw new ClassNotFoundException(name, e);
    }
  }

  private byte @Nullable [] outerBytes(String path) throws IOException {
    try (InputStream in = outer.getResourceAsStream(path)) {
      return in == null ? null : in.readAllBytes();
    }
  }

  /** The native libraries, which lie in the outer jar. */
  @Override
  protected @Nullable URL findResource(String name) {
    return outer.getResource(name);
  }
}
