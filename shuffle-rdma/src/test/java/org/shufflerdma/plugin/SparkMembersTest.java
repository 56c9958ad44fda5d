/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.Handle;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class SparkMembersTest {
  private static final Path LIST =
      Path.of("src/main/resources/org/shufflerdma/plugin", SparkMembers.LIST);
  private static final String SPARK = "org/apache/spark/";
  /** Without what these link to there is no tab in Spark's UI, or no doctor, or Spark's stream serializes rows, but RDMA serves. */
  private static final String APART =
      ".*/org/(shufflerdma/(ui/|doctor/|writer/RowStream)|apache/spark/shuffle/rdma/(RdmaHistoryPlugin|AnyListeners|Doctor)).*";

  private static final String OURS = "org/apache/spark/shuffle/rdma/";

  @Test
  void theSparkOfTheBuildHasAllMembers() {
    assertThat(SparkMembers.firstMissing(SparkMembersTest.class.getClassLoader()))
        .isNull();
  }

  @Test
  void theListHasWhatThePluginsClassesLinkTo() throws IOException {
    List<String> links = links();
    if ("1".equals(System.getenv("UPDATE"))) {
      Files.write(
          LIST,
          Stream.concat(Stream.of("# SPDX-License-Identifier: Apache-2.0"), links.stream())
              .toList());
    }
    assertThat(SparkMembers.list()).as("UPDATE=1 writes " + LIST).isEqualTo(links);
  }

  @Test
  void aMethodThatSparkLacksIsNamed() throws Exception {
    String owner = "org.apache.spark.storage.DiskBlockManager";
    try (DoctoredClasses doctored = new DoctoredClasses(owner, "localDirs")) {
      assertThat(SparkMembers.firstMissing(doctored)).startsWith("method " + owner + " localDirs ");
    }
  }

  @Test
  void aConstructorWithOtherParametersIsNamed() throws Exception {
    String owner = "org.apache.spark.storage.ShuffleBlockFetcherIterator";
    try (DoctoredClasses doctored = new DoctoredClasses(owner, "<init>")) {
      assertThat(SparkMembers.firstMissing(doctored)).startsWith("method " + owner + " <init> ");
    }
  }

  @Test
  void aClassThatSparkLacksIsNamed() throws Exception {
    String owner = "org.apache.spark.MapOutputTrackerWorker";
    try (DoctoredClasses doctored = new DoctoredClasses(owner, null)) {
      assertThat(SparkMembers.firstMissing(doctored)).contains(owner);
    }
  }

  @Test
  void aPrivateFieldThatCannotBeToldFromAnotherIsNamed() throws Exception {
    String owner = "org.apache.spark.scheduler.CompressedMapStatus";
    try (DoctoredClasses doctored = new DoctoredClasses(owner, "[B")) {
      assertThat(SparkMembers.firstMissing(doctored)).contains(owner, "fields of [B");
    }
  }

  @Test
  void aMapStatusThatIsMadeOtherwiseIsNamed() throws Exception {
    try (DoctoredClasses doctored =
        new DoctoredClasses("org.apache.spark.scheduler.MapStatus$", "apply")) {
      assertThat(SparkMembers.firstMissing(doctored)).contains("MapStatus.apply");
    }
  }

  @Test
  void anInterfaceThatAsksForAMethodMoreIsNamed() throws Exception {
    String owner = "org.apache.spark.shuffle.ShuffleReader";
    try (DoctoredClasses doctored = new DoctoredClasses(owner, "+more")) {
      assertThat(SparkMembers.firstMissing(doctored)).startsWith("subclass org.shufflerdma.");
    }
  }

  /** What the classes of this module refer to, sorted, as the list has it. */
  private static List<String> links() throws IOException {
    Set<String> links = new TreeSet<>();
    Path classes = Path.of(
        SparkMembers.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    try (Stream<Path> files = Files.walk(classes)) {
      for (Path file : (Iterable<Path>) files
          .filter(path -> path.toString().endsWith(".class"))
          .filter(path -> !path.toString().matches(APART))::iterator) {
        new ClassReader(Files.readAllBytes(file)).accept(new Links(links), ClassReader.SKIP_DEBUG);
      }
    }
    return List.copyOf(links);
  }

  private static boolean isSparks(String owner) {
    return owner.startsWith(SPARK) && !owner.startsWith(OURS);
  }

  private static final class Links extends ClassVisitor {
    private final Set<String> found;

    Links(Set<String> found) {
      super(Opcodes.ASM9);
      this.found = found;
    }

    @Override
    public void visit(
        int version,
        int access,
        String name,
        String signature,
        String superName,
        String[] interfaces) {
      boolean isAbstract = (access & Opcodes.ACC_ABSTRACT) != 0;
      if (!isAbstract
          && Stream.concat(Stream.of(superName), Arrays.stream(interfaces))
              .anyMatch(SparkMembersTest::isSparks)) {
        found.add("subclass " + name.replace('/', '.'));
      }
    }

    private void add(String kind, String owner, String name, String descriptor) {
      if (isSparks(owner)) {
        found.add(String.join(" ", kind, owner.replace('/', '.'), name, descriptor));
      }
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      return new MethodVisitor(Opcodes.ASM9) {
        @Override
        public void visitMethodInsn(
            int opcode, String owner, String member, String type, boolean isInterface) {
          add("method", owner, member, type);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String member, String type) {
          add("field", owner, member, type);
        }

        @Override
        public void visitInvokeDynamicInsn(
            String member, String type, Handle bootstrap, Object... arguments) {
          for (Object each : arguments) {
            if (each instanceof Handle handle && handle.getDesc().startsWith("(")) {
              add("method", handle.getOwner(), handle.getName(), handle.getDesc());
            }
          }
        }
      };
    }
  }

  /** The class path of this test, in which one class is not as it should be. */
  private static final class DoctoredClasses extends URLClassLoader {
    private final String victim;
    private final @Nullable String defect;

    /**
     * @param defect a method to be renamed, {@code <init>} to have one more parameter, the type
     *     of which there is one more field, or {@code +} and the name of a further method; null if there is no such class
     */
    DoctoredClasses(String victim, @Nullable String defect) {
      super(urls(), ClassLoader.getPlatformClassLoader());
      this.victim = victim;
      this.defect = defect;
    }

    private static URL[] urls() {
      Function<String, URL> toUrl = entry -> {
        try {
          return Path.of(entry).toUri().toURL();
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      };
      return Arrays.stream(System.getProperty("java.class.path").split(":"))
          .map(toUrl)
          .toArray(URL[]::new);
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (!name.equals(victim)) {
        return super.findClass(name);
      }
      if (defect == null) {
        throw new ClassNotFoundException(name);
      }
      try (InputStream in =
          Objects.requireNonNull(getResourceAsStream(name.replace('.', '/') + ".class"))) {
        ClassWriter out = new ClassWriter(0);
        new ClassReader(in.readAllBytes()).accept(new Doctor(out, defect), 0);
        byte[] bytes = out.toByteArray();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static final class Doctor extends ClassVisitor {
    private final String defect;

    Doctor(ClassVisitor next, String defect) {
      super(Opcodes.ASM9, next);
      this.defect = defect;
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      boolean isMeant = name.equals(defect);
      return super.visitMethod(
          access,
          isMeant && !name.equals("<init>") ? name + "Elsewhere" : name,
          isMeant && name.equals("<init>") ? descriptor.replace(")", "I)") : descriptor,
          signature,
          exceptions);
    }

    @Override
    public void visitEnd() {
      if (defect.startsWith("[")) {
        super.visitField(Opcodes.ACC_PRIVATE, "another", defect, null, null);
      }
      if (defect.startsWith("+")) {
        super.visitMethod(
            Opcodes.ACC_PUBLIC | Opcodes.ACC_ABSTRACT, defect.substring(1), "()V", null, null);
      }
      super.visitEnd();
    }
  }
}
