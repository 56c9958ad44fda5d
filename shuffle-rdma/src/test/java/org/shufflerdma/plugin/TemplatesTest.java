/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.shufflerdma.config.RdmaSettings;
import org.w3c.dom.NodeList;
import org.yaml.snakeyaml.Yaml;

/** The files in conf/ that users copy. */
class TemplatesTest {
  private static final Path CONF = Path.of("../conf");
  private static final Pattern SETTING = Pattern.compile("(?m)^(?:# )?(spark\\.\\S+)\\s+(\\S+)$");

  @Test
  void everySettingOfSparkDefaultsIsAccepted() throws IOException {
    Map<String, String> settings = new HashMap<>();
    Matcher matcher =
        SETTING.matcher(Files.readString(CONF.resolve("spark-defaults.conf.template")));
    while (matcher.find()) {
      settings.put(matcher.group(1), matcher.group(2));
    }
    assertThat(settings).containsKeys("spark.shuffle.manager", "spark.shuffle.rdma.device");
    assertThatCode(() -> RdmaSettings.from(settings, ShufflePlugin.PREFIX))
        .doesNotThrowAnyException();
  }

  @Test
  void theFragmentOfYarnSiteNamesTheShuffleService() throws Exception {
    NodeList names = DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(CONF.resolve("yarn-site.fragment.xml").toFile())
        .getElementsByTagName("name");
    assertThat(names.item(0).getTextContent()).isEqualTo("yarn.nodemanager.aux-services");
  }

  @Test
  void theLimitsOfLockedMemoryAreLiftedForUsersAndForTheNodeManager() throws IOException {
    assertThat(lines("99-rdma.conf"))
        .isNotEmpty()
        .allMatch(line -> line.matches("(\\*|root)\\s+(soft|hard)\\s+memlock\\s+unlimited"));
    assertThat(lines("yarn-nodemanager-rdma.conf"))
        .containsExactly("[Service]", "LimitMEMLOCK=infinity");
  }

  private static List<String> lines(String name) throws IOException {
    return Files.readAllLines(CONF.resolve(name)).stream()
        .filter(line -> !line.startsWith("#"))
        .toList();
  }

  @Test
  void thePodTemplateKeepsToTheSchemaOfKubernetesAlsoWithItsCommentedLines() throws IOException {
    KubernetesSchema schema = KubernetesSchema.load();
    String template = Files.readString(CONF.resolve("executor-pod.yaml"));
    Map<String, Object> pod = new Yaml().load(template);
    assertThat(pod).containsEntry("kind", "Pod").containsEntry("apiVersion", "v1");
    assertThat(pod.get("spec")).asString().contains("limits={rdma/").doesNotContain("IPC_LOCK");
    assertThat(schema.violations(pod, "Pod")).isEmpty();

    Map<String, Object> whole =
        new Yaml().load(template.replaceAll("(?m)^( +)# ( *\\w+:( \\S+)?)$", "$1$2"));
    assertThat(whole.get("spec"))
        .asString()
        .contains("hostNetwork=true", "runAsUser=0, capabilities={add=[IPC_LOCK]}");
    assertThat(schema.violations(whole, "Pod")).isEmpty();
  }

  @Test
  void theSchemaOfKubernetesRefusesWhatAPodDoesNotHave() throws IOException {
    KubernetesSchema schema = KubernetesSchema.load();
    Map<String, Object> pod =
        new Yaml().load("spec: {hostNetwork: 7, hostnetwork: true, containers: [{image: [a]}]}");
    assertThat(schema.violations(pod, "Pod"))
        .containsExactlyInAnyOrder(
            "Pod.spec.hostNetwork is no boolean",
            "Pod.spec.hostnetwork is not in the schema",
            "Pod.spec.containers[0].image is no string");
  }
}
