/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes findings for programs: an array with an object for each log. Names end with their units. */
final class JsonReport {
  private final JsonGenerator out;

  private JsonReport(JsonGenerator out) {
    this.out = out;
  }

  /** @param all by the log as the user named it */
  static void write(Path file, Map<String, Findings> all) throws IOException {
    try (OutputStream bytes = Files.newOutputStream(file);
        JsonGenerator out = new JsonFactory().createGenerator(bytes).useDefaultPrettyPrinter()) {
      JsonReport report = new JsonReport(out);
      out.writeStartArray();
      for (Map.Entry<String, Findings> each : all.entrySet()) {
        report.log(each.getKey(), each.getValue());
      }
      out.writeEndArray();
    }
  }

  private void log(String log, Findings findings) throws IOException {
    Application application = findings.application();
    out.writeStartObject();
    out.writeStringField("log", log);
    out.writeStringField("application", application.id());
    out.writeStringField("name", application.name());
    out.writeStringField("spark", application.sparkVersion());
    out.writeNumberField("executors", application.executors());
    out.writeNumberField("hosts", application.hosts());
    out.writeNumberField("tasks", application.tasks());
    out.writeBooleanField("ended", application.ended());
    out.writeNumberField("ignoredLines", application.ignored());
    out.writeNumberField("stagesRanMs", findings.busyMs());
    out.writeStringField("verdict", Verdict.of(findings));
    out.writeNumberField("mostSavedPercent", findings.mostPercent());
    out.writeNumberField("mostSavedByTransportPercent", findings.percent(StageGain::transportMs));
    out.writeNumberField("mostSavedByWriterPercent", findings.percent(StageGain::writerMs));
    out.writeNumberField("mostSavedBySorterPercent", findings.percent(StageGain::sorterMs));
    memory(findings.memory());
    out.writeArrayFieldStart("stages");
    for (StageGain stage : findings.stages()) {
      stage(stage);
    }
    out.writeEndArray();
    out.writeEndObject();
  }

  private void memory(@Nullable MemoryFinding memory) throws IOException {
    if (memory != null) {
      out.writeNumberField("neededBytesPerExecutor", memory.neededBytes());
      if (memory.plan() != null) {
        out.writeNumberField("outputBytesPerExecutor", memory.plan().outputBytes());
        out.writeNumberField("registeredPercent", 100 * memory.registeredShare());
      }
      out.writeStringField("setting", memory.key());
      out.writeNumberField("settingBytes", memory.setBytes());
    }
  }

  private void stage(StageGain stage) throws IOException {
    StageTotals totals = stage.totals();
    out.writeStartObject();
    out.writeNumberField("stage", totals.key.id());
    out.writeNumberField("attempt", totals.key.attempt());
    out.writeStringField("name", totals.name());
    out.writeNumberField("tasks", totals.tasks());
    out.writeNumberField("wallMs", totals.wallMs());
    for (TaskMetric metric : TaskMetric.values()) {
      out.writeNumberField(camelCase(metric.name()), totals.of(metric));
    }
    out.writeNumberField("mapOutputs", totals.mapOutputs());
    WriterFinding writer = stage.writer();
    if (writer != null) {
      out.writeNumberField("partitions", writer.partitions());
      out.writeBooleanField("partitionsAreExact", writer.exact());
      out.writeStringField("sparksWriter", writer.sparks().label);
      out.writeStringField("pluginsWriterTakesIt", camelCase(writer.plugins().name()));
    }
    out.writeBooleanField("sortsByRddKeys", stage.sorts());
    out.writeNumberField("mostSavedByTransportMs", stage.transportMs());
    out.writeNumberField("mostSavedByWriterMs", stage.writerMs());
    out.writeNumberField("mostSavedBySorterMs", stage.sorterMs());
    out.writeEndObject();
  }

  private static String camelCase(String constant) {
    StringBuilder name = new StringBuilder();
    for (String word : constant.toLowerCase(Locale.ROOT).split("_", -1)) {
      name.append(
          name.isEmpty() ? word : Character.toUpperCase(word.charAt(0)) + word.substring(1));
    }
    return name.toString();
  }
}
