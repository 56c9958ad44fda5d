/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The program {@code java -jar shuffle-rdma.jar --estimate}: says of applications, by their event logs, how much faster they
 * could be at most. It needs neither Spark nor a device. Exit status 0: each log was read, be it in part; 2: the caller can
 * put something right; 1: the JSON file could not be written.
 */
public final class Estimate {
  private static final int REFUSED = 2;

  private Estimate() {}

  /**
   * Runs the program and returns its exit status.
   *
   * @param args those after {@code --estimate}
   */
  public static int run(String[] args, PrintStream out, PrintStream err) throws IOException {
    List<String> logs = new ArrayList<>();
    String json = null;
    for (int i = 0; i < args.length; i++) {
      if (args[i].equals("--help") || args[i].equals("-h")) {
        out.print(usage());
        return 0;
      } else if (args[i].equals("--json")) {
        if (json != null || i + 1 == args.length || args[i + 1].startsWith("-")) {
          return refused(err, "--json needs the name of one file");
        }
        json = args[++i];
      } else if (args[i].startsWith("-")) {
        return refused(
            err, "unknown option '" + args[i] + "': give event logs, and --json FILE or --help");
      } else {
        logs.add(args[i]);
      }
    }
    return logs.isEmpty()
        ? refused(
            err,
            "no event log is named: give files, or folders eventlog_v2_…, from spark.eventLog.dir")
        : estimate(logs, json, out, err);
  }

  private static int estimate(
      List<String> logs, @Nullable String json, PrintStream out, PrintStream err) {
    int status = 0;
    Map<String, Findings> all = new LinkedHashMap<>();
    for (String log : logs) {
      try {
        LogReader.Result read = LogReader.read(log);
        Findings findings = Findings.of(read.application());
        all.put(log, findings);
        out.print(new TextReport(findings, read.notes()).text());
      } catch (RefusedException e) {
        status = refused(err, String.valueOf(e.getMessage()));
      } catch (InvalidPathException | IOException e) {
        status = refused(err, log + " cannot be read: " + e);
      }
    }
    if (json != null) {
      try {
        JsonReport.write(Path.of(json), all);
      } catch (InvalidPathException | IOException e) {
        err.println("estimate: --json " + json + " cannot be written: " + e);
        return 1;
      }
    }
    return status;
  }

  private static int refused(PrintStream err, String message) {
    err.println("estimate: " + message);
    return REFUSED;
  }

  private static String usage() throws IOException {
    try (InputStream in = Estimate.class.getResourceAsStream("usage.txt")) {
      return new String(Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
