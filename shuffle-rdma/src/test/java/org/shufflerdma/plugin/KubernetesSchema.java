/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;

/**
 * The schema of the Kubernetes core API, as fabric8's Kubernetes client publishes it. It names the fields of each
 * object and their types. Not for use by several threads.
 */
final class KubernetesSchema {
  private static final String FILE = "/schema/kube-schema.json";
  private static final String PREFIX = "#/definitions/";
  private static final String QUANTITY = PREFIX + "kubernetes_resource_Quantity";

  private final Map<?, ?> definitions;
  private final List<String> violations = new ArrayList<>();

  private KubernetesSchema(Map<?, ?> definitions) {
    this.definitions = definitions;
  }

  static KubernetesSchema load() throws IOException {
    try (InputStream file = KubernetesSchema.class.getResourceAsStream(FILE)) {
      // Every JSON document is YAML, too.
      Map<?, ?> schema = new Yaml(new LoaderOptions()).load(Objects.requireNonNull(file));
      return new KubernetesSchema(member(schema, "definitions"));
    }
  }

  /** Returns what the value has that an object of this kind of the core API cannot have. */
  List<String> violations(Object value, String kind) {
    violations.clear();
    check(value, Map.of("$ref", PREFIX + "kubernetes_core_" + kind), kind);
    return List.copyOf(violations);
  }

  private void check(Object value, Map<?, ?> type, String path) {
    Object reference = type.get("$ref");
    if (QUANTITY.equals(reference)) {
      require(value instanceof String || value instanceof Integer, path, "quantity");
    } else if (reference != null) {
      checkFields(
          value, member(definitions, reference.toString().substring(PREFIX.length())), path);
    } else {
      checkType(value, type, path);
    }
  }

  private void checkType(Object value, Map<?, ?> type, String path) {
    String name = String.valueOf(type.get("type"));
    switch (name) {
      case "string" -> require(value instanceof String, path, name);
      case "boolean" -> require(value instanceof Boolean, path, name);
      case "integer" -> require(value instanceof Integer, path, name);
      case "array" -> {
        require(value instanceof List, path, name);
        if (value instanceof List<?> list) {
          for (int k = 0; k < list.size(); k++) {
            check(list.get(k), member(type, "items"), path + "[" + k + "]");
          }
        }
      }
      case "object" -> {
        require(value instanceof Map, path, name);
        if (value instanceof Map<?, ?> map) {
          map.forEach(
              (key, each) -> check(each, member(type, "additionalProperties"), path + "." + key));
        }
      }
      default -> violations.add(path + " has a type that this test does not know: " + name);
    }
  }

  private void checkFields(Object value, Map<?, ?> definition, String path) {
    require(value instanceof Map, path, "object");
    if (value instanceof Map<?, ?> map) {
      map.forEach((key, each) -> {
        @Nullable Object type = member(definition, "properties").get(key);
        if (type instanceof Map<?, ?> fields) {
          check(each, fields, path + "." + key);
        } else {
          violations.add(path + "." + key + " is not in the schema");
        }
      });
    }
  }

  private void require(boolean holds, String path, String type) {
    if (!holds) {
      violations.add(path + " is no " + type);
    }
  }

  private static Map<?, ?> member(Map<?, ?> map, String name) {
    return (Map<?, ?>) Objects.requireNonNull(map.get(name), name);
  }
}
