/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Who may import whom in this module; the core's {@code TransportArchitectureTest} has the rest.
 * ARCHITECTURE.md draws the same arrows: change both in one commit.
 */
final class ArchitectureTest {
  private static final Map<String, Set<String>> ARROWS = Map.of(
      "ui", Set.of(),
      "doctor", Set.of("hardware", "connection"),
      "mapstatus", Set.of("location"),
      "publication", Set.of("mapoutput", "mapstatus", "location", "staging", "node"),
      "client", Set.of("fetch", "connection", "memory"),
      "beneath", Set.of("client", "fetch", "connection", "mapstatus"),
      "estimate", Set.of("writer", "device", "location", "verbs"),
      "reader",
          Set.of(
              "client",
              "fetch",
              "staging",
              "node",
              "connection",
              "memory",
              "mapstatus",
              "location",
              "sorter"));

  private static final JavaClasses CLASSES = PackageArrows.classesOfThisModule();

  @Test
  void packagesImportOnlyAlongTheArrowsAndHaveNoCycles() {
    PackageArrows.check(ARROWS, CLASSES);
  }

  /** What stands on a device is the core's: {@code verbs} sees DiSNI, and memory is registered there. */
  @Test
  void noneSeesDisniOrRegistersMemory() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAPackage("com.ibm.disni..")
        .orShould()
        .callMethodWhere(target(nameMatching("registerMemory|registerFile")))
        .check(CLASSES);
  }

  @Test
  void onlyTheEntryClassesSeeThePlugin() {
    noClasses()
        .that()
        .resideInAPackage("org.shufflerdma..")
        .and()
        .resideOutsideOfPackage("org.shufflerdma.plugin..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("org.shufflerdma.plugin..")
        .check(CLASSES);
  }

  @Test
  void onlyTwoPackagesOpenForeignFields() {
    noClasses()
        .that()
        .resideOutsideOfPackages("org.shufflerdma.mapstatus..", "org.shufflerdma.beneath..")
        .should()
        .callMethod(AccessibleObject.class, "setAccessible", boolean.class)
        .orShould()
        .callMethod(Field.class, "setAccessible", boolean.class)
        .check(CLASSES);
  }

  /** It runs where there is no Spark, and nothing else has libraries of its own in the jar. */
  @Test
  void theEstimateAloneSeesItsLibrariesAndNoSpark() {
    noClasses()
        .that()
        .resideInAPackage("org.shufflerdma.estimate..")
        .or()
        .haveSimpleName("WriterRule")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("org.apache..", "scala..", "org.slf4j..")
        .check(CLASSES);
    noClasses()
        .that()
        .resideOutsideOfPackage("org.shufflerdma.estimate..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("com.fasterxml..", "io.airlift..", "com.ning..")
        .check(CLASSES);
  }

  /** An executor may run without Spark SQL. */
  @Test
  void theStreamOfRowsAloneSeesSparkSql() {
    noClasses()
        .that()
        .doNotHaveSimpleName("RowStream")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("org.apache.spark.sql..")
        .check(CLASSES);
  }

  @Test
  void staticsAreFinal() {
    fields().that().areStatic().should().beFinal().check(CLASSES);
  }
}
