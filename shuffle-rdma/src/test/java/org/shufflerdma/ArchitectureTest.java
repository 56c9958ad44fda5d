/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Who may import whom in this module; the core's {@code TransportArchitectureTest} has the rest.
 * ARCHITECTURE.md draws the same arrows: change both in one commit.
 */
final class ArchitectureTest {
  private static final String ROOT = "org.shufflerdma.";

  /** Leaves that any package may use. */
  private static final Set<String> LEAVES = Set.of("config", "metrics", "concurrent", "crypto");

  private static final Map<String, Set<String>> ARROWS = Map.of(
      "mapstatus", Set.of("location"),
      "writer", Set.of("mapoutput", "mapstatus", "location"),
      "reader", Set.of("fetch", "connection", "memory", "mapstatus", "location"));

  private static final JavaClasses CLASSES =
      new ClassFileImporter().importPath(Path.of("target", "classes"));

  @Test
  void packagesImportOnlyAlongTheArrows() {
    ARROWS.forEach((from, to) -> {
      List<String> allowed = new ArrayList<>();
      allowed.add(ROOT + from + "..");
      LEAVES.forEach(leaf -> allowed.add(ROOT + leaf + ".."));
      to.forEach(name -> allowed.add(ROOT + name + ".."));
      noClasses()
          .that()
          .resideInAPackage(ROOT + from + "..")
          .should()
          .dependOnClassesThat(resideInAPackage("org.shufflerdma..")
              .and(not(resideInAnyPackage(allowed.toArray(String[]::new)))))
          .because("the arrows of ARCHITECTURE.md do not lead from " + from + " there")
          .allowEmptyShould(true)
          .check(CLASSES);
    });
  }

  @Test
  void packagesHaveNoCycles() {
    slices().matching("org.shufflerdma.(*)..").should().beFreeOfCycles().check(CLASSES);
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
  void onlyMapstatusOpensForeignFields() {
    noClasses()
        .that()
        .resideOutsideOfPackage("org.shufflerdma.mapstatus..")
        .should()
        .callMethod(AccessibleObject.class, "setAccessible", boolean.class)
        .orShould()
        .callMethod(Field.class, "setAccessible", boolean.class)
        .check(CLASSES);
  }

  @Test
  void staticsAreFinal() {
    fields().that().areStatic().should().beFinal().check(CLASSES);
  }
}
