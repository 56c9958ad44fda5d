/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.device.RdmaUnavailableException;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.writer.MapStatuses;

/**
 * The members of Spark that the plugin's classes link to. Most are private to Spark, and a vendor's build may
 * lack one, which a task would meet in its midst as a {@code NoSuchMethodError}. So all of them are looked
 * for before RDMA starts, but for those of classes that RDMA does without. They stand in {@code spark-members.txt}, a line each:
 *
 * <pre>
 *   method CLASS NAME DESCRIPTOR      also of a super class or an interface; of a constructor it is &lt;init&gt;
 *   field CLASS NAME DESCRIPTOR
 *   subclass CLASS                    of the plugin, which implements all that Spark leaves abstract
 * </pre>
 *
 * <p>SparkMembersTest compares the list with the plugin's classes, and writes it anew with {@code UPDATE=1} in the
 * environment.
 */
final class SparkMembers {
  static final String LIST = "spark-members.txt";

  private static final String CONSTRUCTOR = "<init>";

  private SparkMembers() {}

  /** Throws RdmaUnavailableException with its name if the Spark of this process lacks one. */
  static void requireAll() throws RdmaUnavailableException {
    String missing = firstMissing(SparkMembers.class.getClassLoader());
    if (missing != null) {
      throw new RdmaUnavailableException(
          "this build of Spark lacks what the plugin links to: " + missing);
    }
  }

  /**
   * Returns the first member that this Spark lacks, or null if it has all.
   *
   * @param loader sees Spark's classes and the plugin's
   */
  static @Nullable String firstMissing(ClassLoader loader) {
    for (String line : list()) {
      String[] words = line.split(" ", -1);
      try {
        Class<?> owner = Class.forName(words[1], false, loader);
        if (!switch (words[0]) {
          case "method" -> hasMethod(owner, words[2], words[3]);
          case "field" -> hasField(owner, words[2], words[3]);
          case "subclass" -> implementsAll(owner);
          default -> throw new IllegalStateException(LIST + " has the line " + line);
        }) {
          return line;
        }
      } catch (ClassNotFoundException | LinkageError | TypeNotPresentException e) {
        return line + " (" + e + ")";
      }
    }
    try {
      Class.forName(MapStatusCarrier.class.getName(), true, loader); // finds the private fields
      Class.forName(MapStatuses.class.getName(), true, loader); // finds MapStatus.apply
      return null;
    } catch (ClassNotFoundException | LinkageError e) {
      return String.valueOf(e.getMessage());
    }
  }

  static List<String> list() {
    try (InputStream in = Objects.requireNonNull(SparkMembers.class.getResourceAsStream(LIST));
        BufferedReader reader =
            new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
      return reader.lines().filter(line -> !line.startsWith("#")).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean hasMethod(Class<?> owner, String name, String descriptor) {
    MethodType type = MethodType.fromMethodDescriptorString(descriptor, owner.getClassLoader());
    if (name.equals(CONSTRUCTOR)) {
      for (Constructor<?> each : owner.getDeclaredConstructors()) {
        if (type.parameterList().equals(List.of(each.getParameterTypes()))) {
          return isVisible(each.getModifiers());
        }
      }
      return false;
    }
    for (Method each : owner.getDeclaredMethods()) {
      if (each.getName().equals(name)
          && type.returnType() == each.getReturnType()
          && type.parameterList().equals(List.of(each.getParameterTypes()))) {
        return isVisible(each.getModifiers());
      }
    }
    Class<?> parent = owner.getSuperclass();
    if (parent != null && hasMethod(parent, name, descriptor)) {
      return true;
    }
    for (Class<?> each : owner.getInterfaces()) {
      if (hasMethod(each, name, descriptor)) {
        return true;
      }
    }
    return false;
  }

  private static boolean hasField(Class<?> owner, String name, String descriptor) {
    for (Field each : owner.getFields()) {
      if (each.getName().equals(name) && each.getType().descriptorString().equals(descriptor)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isVisible(int modifiers) {
    return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
  }

  private static boolean implementsAll(Class<?> subclass) {
    for (Method each : subclass.getMethods()) {
      if (Modifier.isAbstract(each.getModifiers())) {
        return false;
      }
    }
    return true;
  }
}
