/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import java.io.IOException;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Who may import whom in the core. ARCHITECTURE.md draws the same arrows: change both in one commit. */
final class TransportArchitectureTest {
  private static final String ROOT = "org.shufflerdma.";

  private static final Map<String, Set<String>> ARROWS = Map.ofEntries(
      Map.entry("config", Set.of()),
      Map.entry("metrics", Set.of()),
      Map.entry("concurrent", Set.of()),
      Map.entry("crypto", Set.of()),
      Map.entry("verbs", Set.of()),
      Map.entry("memory", Set.of("verbs")),
      Map.entry("location", Set.of()),
      Map.entry("connection", Set.of("memory", "verbs")),
      Map.entry("control", Set.of()),
      Map.entry("staging", Set.of("control", "connection", "memory", "verbs")),
      Map.entry("node", Set.of("control", "connection")),
      Map.entry("fetch", Set.of("staging", "node", "connection", "memory", "location", "verbs")),
      Map.entry(
          "device", Set.of("fetch", "mapoutput", "connection", "memory", "location", "verbs")),
      Map.entry("mapoutput", Set.of("location", "memory", "verbs")));

  private static final JavaClasses CLASSES = PackageArrows.classesOfThisModule();

  @Test
  void packagesImportOnlyAlongTheArrowsAndHaveNoCycles() {
    PackageArrows.check(ARROWS, CLASSES);
  }

  /** From those who ask for blocks over the engine to descriptors and lists of READs. */
  @Test
  void noArrowWithinFetchLeadsUpward() {
    layeredArchitecture()
        .consideringOnlyDependenciesInAnyPackage(ROOT + "fetch..")
        .layer("asking")
        .definedBy(ROOT + "fetch")
        .layer("engine")
        .definedBy(ROOT + "fetch.direct")
        .layer("descriptors")
        .definedBy(ROOT + "fetch.descriptor")
        .layer("lists")
        .definedBy(ROOT + "fetch.read")
        .whereLayer("asking")
        .mayNotBeAccessedByAnyLayer()
        .whereLayer("engine")
        .mayOnlyBeAccessedByLayers("asking")
        .whereLayer("descriptors")
        .mayOnlyBeAccessedByLayers("asking", "engine")
        .whereLayer("lists")
        .mayOnlyBeAccessedByLayers("asking", "engine")
        .check(CLASSES);
  }

  @Test
  void onlyVerbsSeesDisni() {
    noClasses()
        .that()
        .resideOutsideOfPackages("org.shufflerdma.verbs..", "com.ibm.disni..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("com.ibm.disni..")
        .check(CLASSES);
  }

  /** So that what {@code ProtectionDomain} refuses is registered nowhere. */
  @Test
  void onlyProtectionDomainsRegisterMemory() {
    noClasses()
        .that()
        .doNotHaveFullyQualifiedName(ROOT + "verbs.ProtectionDomain")
        .should()
        .callMethodWhere(target(nameMatching("registerMemory|registerFile|_regMr")))
        .check(CLASSES);
  }

  @Test
  void noneOpensForeignFields() {
    noClasses()
        .should()
        .callMethod(AccessibleObject.class, "setAccessible", boolean.class)
        .orShould()
        .callMethod(Field.class, "setAccessible", boolean.class)
        .check(CLASSES);
  }

  /** So that the core can have another user, whose settings have another prefix. */
  @Test
  void noSourceNamesASettingOfSpark() throws IOException {
    try (Stream<Path> sources = Files.walk(Path.of("src", "main"))) {
      assertThat(sources.filter(Files::isRegularFile))
          .isNotEmpty()
          .allSatisfy(source -> assertThat(source).content().doesNotContain("spark."));
    }
  }

  /** In {@code verbs} the loaded library and the bound function table belong to the process. */
  @Test
  void staticsAreFinalButForTheLoadedLibrary() {
    fields()
        .that()
        .areStatic()
        .and()
        .areDeclaredInClassesThat()
        .resideOutsideOfPackage("org.shufflerdma.verbs..")
        .should()
        .beFinal()
        .check(CLASSES);
  }
}
