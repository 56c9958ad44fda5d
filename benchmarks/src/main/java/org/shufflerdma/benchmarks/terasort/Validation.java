/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.util.List;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.terasort.TeraChecksum;
import org.apache.hadoop.examples.terasort.TeraValidate;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.jspecify.annotations.Nullable;

/**
 * Validates a sort with Hadoop's own programs, in its local job runner in this JVM. TeraValidate's
 * exit code is 0 for unsorted output too, so its report decides.
 */
final class Validation {
  private final WorkDirectory directory;
  private final Configuration hadoop;

  Validation(WorkDirectory directory, Configuration hadoop) {
    this.directory = directory;
    this.hadoop = new Configuration(hadoop);
    this.hadoop.set("mapreduce.framework.name", "local");
    this.hadoop.setInt(
        "mapreduce.local.map.tasks.maximum", Runtime.getRuntime().availableProcessors());
  }

  /** Returns the checksum over all rows of a directory, in hexadecimal. */
  String checksum(String name) throws Exception {
    String report = "checksum-" + name;
    run(new TeraChecksum(), name, report);
    String text = directory.readFirstPart(report).strip();
    directory.clear(report);
    return text;
  }

  Outcome validate(String output, String inputChecksum, long records) throws Exception {
    String report = "report-" + output;
    run(new TeraValidate(), output, report);
    List<String> lines = directory.readFirstPart(report).lines().toList();
    directory.clear(report);
    long outputRecords = directory.bytes(output) / TeraSortOptions.RECORD_BYTES;
    return judge(lines, outputRecords, inputChecksum, records);
  }

  static Outcome judge(
      List<String> report, long outputRecords, String inputChecksum, long records) {
    String checksum = "none";
    for (String line : report) {
      String lower = line.toLowerCase(Locale.ROOT);
      if (lower.startsWith("checksum")) {
        checksum = line.substring("checksum".length()).strip();
      } else {
        return new Outcome(checksum, outputRecords, "TeraValidate reports: " + line.strip());
      }
    }
    if (!checksum.equals(inputChecksum)) {
      return new Outcome(
          checksum,
          outputRecords,
          "the checksum of the input is " + inputChecksum + ", of the output " + checksum);
    }
    if (outputRecords != records) {
      return new Outcome(
          checksum, outputRecords, records + " records went in, " + outputRecords + " came out");
    }
    return new Outcome(checksum, outputRecords, null);
  }

  private void run(Tool tool, String from, String to) throws Exception {
    directory.clear(to);
    int status = ToolRunner.run(new Configuration(hadoop), tool, new String[] {
      directory.path(from).toString(), directory.path(to).toString()
    });
    if (status != 0) {
      throw new IllegalStateException(tool.getClass().getSimpleName() + " of "
          + directory.path(from) + " ended with " + status);
    }
  }

  /** The properties of an output, and what is wrong with it if anything. */
  record Outcome(String checksum, long records, @Nullable String error) {}
}
