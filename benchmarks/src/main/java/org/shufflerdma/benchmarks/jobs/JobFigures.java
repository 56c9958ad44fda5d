/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** The figures of one job, from what its driver says of it. */
final class JobFigures {
  private final JsonNode json;

  private JobFigures(JsonNode json) {
    this.json = json;
  }

  static Map<String, Double> of(JsonNode job) {
    JobFigures of = new JobFigures(job);
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put("job, s", job.get("wall_s").asDouble());
    figures.put("executors' CPU, s", job.get("executor_cpu_s").asDouble());
    figures.put("maps, s", of.sumOfStages("wall_s", false));
    figures.put("maps' task CPU, s", of.sumOfStages("task_cpu_s", false));
    figures.put("reduces, s", of.sumOfStages("wall_s", true));
    figures.put(
        "reduces' CPU with transport, s",
        of.sumOfStages("task_cpu_s", true) + of.transportCpuSeconds());
    double remoteBlocks = of.sumOfStages("remote_blocks", true);
    if (remoteBlocks > 0) {
      figures.put(
          "transport CPU per remote block, µs", of.transportCpuSeconds() * 1e6 / remoteBlocks);
    }
    figures.put("fetch wait, s", of.sumOfStages("fetch_wait_s", true));
    return figures;
  }

  /** The figures of one query, whose stages may read a shuffle and write another one. */
  static Map<String, Double> ofQuery(JsonNode query) {
    JobFigures of = new JobFigures(query);
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put("query, s", query.get("wall_s").asDouble());
    figures.put("executors' CPU, s", query.get("executor_cpu_s").asDouble());
    figures.put("tasks' CPU, s", of.sum("task_cpu_s"));
    figures.put("shuffle written, MB", of.sum("written_bytes") / 1e6);
    figures.put("shuffle read, MB", of.sum("read_bytes") / 1e6);
    figures.put("of it remote, MB", of.sum("remote_bytes") / 1e6);
    figures.put("fetch wait, s", of.sum("fetch_wait_s"));
    figures.put("write, s", of.sum("write_s"));
    return figures;
  }

  /** Throws unless RDMA has brought all bytes of other executors. */
  static void requireAllByRdma(JsonNode query) throws IOException {
    JobFigures of = new JobFigures(query);
    if (of.sum("rdma_bytes") != of.sum("remote_bytes")) {
      throw new IOException("of %.0f remote bytes RDMA brought %.0f"
          .formatted(of.sum("remote_bytes"), of.sum("rdma_bytes")));
    }
  }

  private double transportCpuSeconds() {
    return json.path("thread_cpu_s").path("transport").asDouble();
  }

  private double sum(String figure) {
    return sumOfStages(figure, false) + sumOfStages(figure, true);
  }

  /** The sum of a figure over the stages that read a shuffle, or over those that do not. */
  private double sumOfStages(String figure, boolean reading) {
    double sum = 0;
    for (JsonNode stage : json.get("stages")) {
      boolean reads =
          stage.get("remote_blocks").asLong() + stage.get("local_blocks").asLong() > 0;
      sum += reads == reading ? stage.get(figure).asDouble() : 0;
    }
    return sum;
  }
}
