/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The rules that the packages of every module keep, for the architecture test of each module. */
final class PackageArrows {
  private static final String ROOT = "org.shufflerdma.";

  /** Leaves that any package may use. */
  private static final Set<String> LEAVES = Set.of("config", "metrics", "concurrent", "crypto");

  private PackageArrows() {}

  static JavaClasses classesOfThisModule() {
    return new ClassFileImporter().importPath(Path.of("target", "classes"));
  }

  /**
   * Fails if a package imports another to which no arrow leads.
   *
   * @param arrows the packages that each package may import besides the leaves
   */
  static void check(Map<String, Set<String>> arrows, JavaClasses classes) {
    arrows.forEach((from, to) -> {
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
          .check(classes);
    });
    slices().matching("org.shufflerdma.(*)..").should().beFreeOfCycles().check(classes);
  }
}
