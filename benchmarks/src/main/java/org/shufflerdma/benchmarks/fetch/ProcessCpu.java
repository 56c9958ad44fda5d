/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** CPU time of processes as Linux counts it for their threads (proc(5), {@code schedstat}). */
public final class ProcessCpu {
  private ProcessCpu() {}

  /** Returns the seconds so far of the living threads of the processes. */
  public static double seconds(long... pids) throws IOException, InterruptedException {
    // Linux counts what a running thread has used when the thread next waits or is interrupted.
    Thread.sleep(1);
    long ranNs = 0;
    for (long pid : pids) {
      try (DirectoryStream<Path> tasks =
          Files.newDirectoryStream(Path.of("/proc", Long.toString(pid), "task"))) {
        for (Path task : tasks) {
          try {
            String schedstat = Files.readString(task.resolve("schedstat"));
            ranNs += Long.parseLong(schedstat.substring(0, schedstat.indexOf(' ')));
          } catch (NoSuchFileException e) {
            // The thread has ended.
          }
        }
      }
    }
    return ranNs / 1e9;
  }
}
