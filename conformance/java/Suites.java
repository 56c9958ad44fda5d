/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.conformance;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.zip.ZipFile;
import org.apache.spark.SparkConf;
import org.apache.spark.launcher.JavaModuleOptions;
import org.scalatest.Suite;

/**
 * Says what {@code bin/conformance} must know before it runs suites: first the options that Spark
 * gives its JVMs, then a line per suite, its kind and its class. The kind is {@code configured} if
 * the suite has a {@code SparkConf} that can be set from outside, else {@code plain}.
 *
 * <p>Ends with status 2 and a message if a name is not that of one suite.
 */
public final class Suites {
  private Suites() {}

  public static void main(String[] names) throws IOException {
    System.out.println(JavaModuleOptions.defaultModuleOptions());
    List<String> classes = testClasses();
    for (String name : names) {
      Class<?> suite = find(name, classes);
      if (!Suite.class.isAssignableFrom(suite)) {
        refuse(name + " is " + suite.getName() + ", which is no ScalaTest suite");
      }
      System.out.println((isConfigured(suite) ? "configured " : "plain ") + suite.getName());
    }
  }

  private static List<String> testClasses() throws IOException {
    List<String> classes = new ArrayList<>();
    for (String jar : System.getProperty("java.class.path").split(File.pathSeparator)) {
      if (jar.endsWith("-tests.jar")) {
        try (ZipFile zip = new ZipFile(jar)) {
          zip.stream()
              .map(entry -> entry.getName())
              .filter(name -> name.endsWith(".class") && !name.contains("$"))
              .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
              .forEach(classes::add);
        }
      }
    }
    return classes;
  }

  /** By the full name, or by as much of its end as is unique. */
  private static Class<?> find(String name, List<String> classes) {
    List<String> found = classes.stream()
        .filter(full -> full.equals(name) || full.endsWith("." + name))
        .sorted()
        .distinct()
        .toList();
    if (found.size() > 1) {
      refuse(name + " may be " + String.join(" or ", found) + ": give more of its name");
    }
    if (found.isEmpty()) {
      String end = name.substring(name.lastIndexOf('.') + 1).toLowerCase(Locale.ROOT);
      List<String> near = classes.stream()
          .filter(full -> full.endsWith("Suite"))
          .filter(full -> full.toLowerCase(Locale.ROOT).contains(end.replaceAll("suite$", "")))
          .sorted()
          .limit(8)
          .toList();
      refuse("no suite " + name + " in the tests jars of this Spark: give the name of a class, "
          + (near.isEmpty() ? "such as rdd.RDDSuite" : "such as " + String.join(", ", near)));
    }
    try {
      return Class.forName(found.get(0), false, Suites.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      refuse(found.get(0) + " needs a class that is not in conformance/pom.xml: " + e.getMessage());
      throw new IllegalStateException(e);
    }
  }

  private static boolean isConfigured(Class<?> suite) {
    return Arrays.stream(suite.getMethods())
        .anyMatch(method -> method.getName().equals("conf")
            && method.getParameterCount() == 0
            && method.getReturnType() == SparkConf.class);
  }

  private static void refuse(String reason) {
    System.err.println(reason);
    System.exit(2);
  }
}
