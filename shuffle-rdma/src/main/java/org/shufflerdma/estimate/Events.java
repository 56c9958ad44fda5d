/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads events as Spark's {@code JsonProtocol} writes them, one a line, and adds them to an application. Events that tell
 * nothing of shuffles are passed over. An event whose values are not of the expected kind is ignored as a whole, and counted.
 * One thread uses it.
 */
final class Events {
  private static final int MOST_TEXT = 1 << 20;
  private static final int MOST_NAME = 120;
  private static final int MOST_INPUTS = 100;
  private static final int MOST_RDDS = 100_000;

  /** No time, size or count of a task is larger. */
  private static final long MOST = 1L << 53;

  private static final JsonFactory JSON = new JsonFactoryBuilder()
      .streamReadConstraints(StreamReadConstraints.builder()
          .maxNestingDepth(200)
          .maxNumberLength(30)
          .maxStringLength(MOST_TEXT)
          .build())
      .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
      .build();

  /** A value is not of the expected kind. */
  private static final class UnexpectedException extends IOException {
    private static final long serialVersionUID = 1L;

    UnexpectedException(String what) {
      super(what);
    }
  }

  /** Is given the name of each field of an object, while the parser is at its value. What it leaves is skipped. */
  private interface Field {
    void at(String name) throws IOException;
  }

  private final Application application;

  Events(Application application) {
    this.application = application;
  }

  /**
   * Adds the event of a line.
   *
   * @return whether the line is an event, or passed over
   */
  boolean add(byte[] line, int length) throws IOException {
    try (JsonParser in = JSON.createParser(line, 0, length)) {
      if (in.nextToken() != JsonToken.START_OBJECT
          || !"Event".equals(in.nextFieldName())
          || in.nextToken() != JsonToken.VALUE_STRING) {
        return false;
      }
      event(in.getText(), in);
      return true;
    } catch (JsonProcessingException | UnexpectedException | IllegalStateException e) {
      return false;
    }
  }

  private void event(String event, JsonParser in) throws IOException {
    switch (event) {
      case "SparkListenerTaskEnd" -> application.add(taskEnd(in));
      case "SparkListenerStageSubmitted" -> stage(in);
      case "SparkListenerEnvironmentUpdate" -> environment(in);
      case "SparkListenerExecutorAdded" -> executorAdded(in);
      case "SparkListenerExecutorRemoved" ->
        application.executorRemoved(texts(in).get("Executor ID"));
      case "SparkListenerApplicationStart" -> {
        Texts texts = texts(in);
        application.start(texts.get("App ID"), texts.get("App Name"));
      }
      case "SparkListenerApplicationEnd" -> application.end();
      case "SparkListenerLogStart" -> application.version(texts(in).get("Spark Version"));
      default -> {}
    }
  }

  /** The texts of an object; what is missing is empty. */
  private record Texts(Map<String, String> values) {
    String get(String name) {
      return values.getOrDefault(name, "");
    }
  }

  private static Texts texts(JsonParser in) throws IOException {
    Map<String, String> texts = new HashMap<>();
    fields(in, name -> {
      if (in.currentToken() == JsonToken.VALUE_STRING) {
        texts.put(name, shortText(in));
      }
    });
    return new Texts(texts);
  }

  /** Passes the rest of an object of which the parser is at the beginning, or behind a field. */
  private static void fields(JsonParser in, Field field) throws IOException {
    while (in.nextToken() == JsonToken.FIELD_NAME) {
      String name = in.currentName();
      in.nextToken();
      field.at(name);
      in.skipChildren();
    }
    if (in.currentToken() != JsonToken.END_OBJECT) {
      throw new UnexpectedException("the line ends within an object");
    }
  }

  private static void object(JsonParser in, Field field) throws IOException {
    expect(in.currentToken() == JsonToken.START_OBJECT);
    fields(in, field);
  }

  private static void expect(boolean isExpected) throws UnexpectedException {
    if (!isExpected) {
      throw new UnexpectedException("a value of another kind");
    }
  }

  private static String text(JsonParser in) throws IOException {
    expect(in.currentToken() == JsonToken.VALUE_STRING);
    return in.getText();
  }

  private static String shortText(JsonParser in) throws IOException {
    String text = text(in).replaceAll("[\\p{Cc}\\p{Cf}]", " ");
    return text.length() <= MOST_NAME ? text : text.substring(0, MOST_NAME);
  }

  /** Numbers are of what is counted or measured, so none is negative. */
  private static long number(JsonParser in) throws IOException {
    expect(in.currentToken() == JsonToken.VALUE_NUMBER_INT);
    long number = in.getLongValue();
    expect(number >= 0 && number <= MOST);
    return number;
  }

  private static Map<String, String> map(JsonParser in) throws IOException {
    Map<String, String> map = new HashMap<>();
    object(in, key -> map.put(key, text(in)));
    return map;
  }

  private void environment(JsonParser in) throws IOException {
    Map<String, String> settings = new HashMap<>();
    fields(in, name -> {
      if (name.equals("Spark Properties")) {
        settings.putAll(map(in));
      }
    });
    application.environment(settings);
  }

  private void executorAdded(JsonParser in) throws IOException {
    String[] texts = {"", ""};
    long[] cores = {0};
    fields(in, name -> {
      if (name.equals("Executor ID")) {
        texts[0] = shortText(in);
      } else if (name.equals("Executor Info")) {
        object(in, field -> {
          if (field.equals("Host")) {
            texts[1] = shortText(in);
          } else if (field.equals("Total Cores")) {
            cores[0] = number(in);
          }
        });
      }
    });
    application.executorAdded(texts[0], texts[1], cores[0]);
  }

  private TaskEnd taskEnd(JsonParser in) throws IOException {
    long[] ids = {-1, 0};
    long[] times = {0, 0};
    String[] executor = {""};
    MetricValues metrics = new MetricValues();
    fields(in, name -> {
      switch (name) {
        case "Stage ID" -> ids[0] = number(in);
        case "Stage Attempt ID" -> ids[1] = number(in);
        case "Task Info" ->
          object(in, field -> {
            switch (field) {
              case "Executor ID" -> executor[0] = shortText(in);
              case "Launch Time" -> times[0] = number(in);
              case "Finish Time" -> times[1] = number(in);
              default -> {}
            }
          });
        case "Task Metrics" -> {
          // A task that has sent none, as its executor was lost, has none.
          if (in.currentToken() != JsonToken.VALUE_NULL) {
            metrics(in, metrics);
          }
        }
        default -> {}
      }
    });
    expect(ids[0] >= 0);
    return new TaskEnd(new StageKey(ids[0], ids[1]), executor[0], times[0], times[1], metrics);
  }

  private static void metrics(JsonParser in, MetricValues metrics) throws IOException {
    object(in, name -> {
      if (name.equals(TaskMetric.READ) || name.equals(TaskMetric.WRITE)) {
        object(in, field -> take(in, name, field, metrics));
      } else {
        take(in, "", name, metrics);
      }
    });
  }

  private static void take(JsonParser in, String group, String key, MetricValues metrics)
      throws IOException {
    TaskMetric metric = TaskMetric.at(group, key);
    if (metric != null) {
      metrics.set(metric, number(in));
    }
  }

  private void stage(JsonParser in) throws IOException {
    List<StageDescription> described = new ArrayList<>();
    Map<String, String> properties = new HashMap<>();
    fields(in, name -> {
      if (name.equals("Stage Info")) {
        described.add(stageInfo(in, properties));
      } else if (name.equals("Properties")) {
        map(in).forEach((key, value) -> {
          if (SparkProperties.isOfSession(key) && value.length() <= MOST_NAME) {
            properties.put(key, value);
          }
        });
      }
    });
    expect(described.size() == 1);
    application.describe(described.get(0));
  }

  private static StageDescription stageInfo(JsonParser in, Map<String, String> properties)
      throws IOException {
    long[] ids = {-1, 0};
    String[] stageName = {""};
    List<Rdd> rdds = new ArrayList<>();
    object(in, name -> {
      switch (name) {
        case "Stage ID" -> ids[0] = number(in);
        case "Stage Attempt ID" -> ids[1] = number(in);
        case "Stage Name" -> stageName[0] = shortText(in);
        case "RDD Info" -> {
          expect(in.currentToken() == JsonToken.START_ARRAY);
          while (in.nextToken() == JsonToken.START_OBJECT) {
            expect(rdds.size() < MOST_RDDS);
            rdds.add(rdd(in));
          }
          expect(in.currentToken() == JsonToken.END_ARRAY);
        }
        default -> {}
      }
    });
    expect(ids[0] >= 0);
    return new StageDescription(
        new StageKey(ids[0], ids[1]),
        stageName[0],
        rdds.isEmpty() ? -1 : rdds.get(0).id(), // Spark puts the last RDD of a stage first.
        inputs(rdds),
        properties);
  }

  private record Rdd(long id, String name, String scope, long partitions, List<Long> parents) {}

  /** What an RDD depends on and is not of its stage comes by a shuffle. */
  private static List<StageDescription.Input> inputs(List<Rdd> rdds) {
    Set<Long> own = new HashSet<>();
    rdds.forEach(rdd -> own.add(rdd.id()));
    return rdds.stream()
        .flatMap(rdd -> rdd.parents().stream()
            .filter(parent -> !own.contains(parent))
            .map(parent ->
                new StageDescription.Input(parent, rdd.name(), rdd.scope(), rdd.partitions())))
        .limit(MOST_INPUTS)
        .toList();
  }

  private static Rdd rdd(JsonParser in) throws IOException {
    long[] numbers = {-1, 0};
    String[] texts = {"", ""};
    List<Long> parents = new ArrayList<>();
    fields(in, name -> {
      switch (name) {
        case "RDD ID" -> numbers[0] = number(in);
        case "Number of Partitions" -> numbers[1] = number(in);
        case "Name" -> texts[0] = shortText(in);
        case "Scope" -> texts[1] = scopeName(text(in));
        case "Parent IDs" -> {
          expect(in.currentToken() == JsonToken.START_ARRAY);
          while (in.nextToken() == JsonToken.VALUE_NUMBER_INT) {
            expect(parents.size() < MOST_RDDS);
            parents.add(number(in));
          }
          expect(in.currentToken() == JsonToken.END_ARRAY);
        }
        default -> {}
      }
    });
    return new Rdd(numbers[0], texts[0], texts[1], numbers[1], parents);
  }

  /** The scope is a text that has JSON in it. */
  private static String scopeName(String scope) throws IOException {
    String[] found = {""};
    try (JsonParser in = JSON.createParser(scope)) {
      in.nextToken();
      object(in, name -> {
        if (name.equals("name")) {
          found[0] = shortText(in);
        }
      });
    }
    return found[0];
  }
}
