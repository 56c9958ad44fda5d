/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * One run as the file of results has it.
 *
 * @param side {@code stock} or {@code rdma}
 * @param json everything that was measured
 */
record JobRun(String shape, String phase, int pair, String side, JsonNode json) {
  /** Returns the runs of a file in the order in which they were made. */
  static List<JobRun> ofFile(Path results) throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    List<JobRun> runs = new ArrayList<>();
    for (String line : Files.readAllLines(results)) {
      JsonNode json = mapper.readTree(line);
      if (json.has("shape")) {
        runs.add(new JobRun(
            json.get("shape").asText(),
            json.get("phase").asText(),
            json.get("pair").asInt(),
            json.get("side").asText(),
            json));
      }
    }
    return runs;
  }

  double wallSeconds() {
    return json.get("wall_s").asDouble();
  }

  double executorCpuSeconds() {
    return json.get("executor_cpu_s").asDouble();
  }

  double transportCpuSeconds() {
    return json.path("thread_cpu_s").path("transport").asDouble();
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

  double mapWallSeconds() {
    return sumOfStages("wall_s", false);
  }

  double mapTaskCpuSeconds() {
    return sumOfStages("task_cpu_s", false);
  }

  double reduceWallSeconds() {
    return sumOfStages("wall_s", true);
  }

  /** Tasks that read, and all threads of the transport. */
  double reduceCpuSeconds() {
    return sumOfStages("task_cpu_s", true) + transportCpuSeconds();
  }

  double fetchWaitSeconds() {
    return sumOfStages("fetch_wait_s", true);
  }

  double transportMicrosPerRemoteBlock() {
    return transportCpuSeconds() * 1e6 / sumOfStages("remote_blocks", true);
  }
}
