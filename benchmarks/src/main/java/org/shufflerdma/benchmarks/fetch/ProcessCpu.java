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
    long[] sumNs = {0};
    for (long pid : pids) {
      forEachThread(pid, (thread, ranNs) -> sumNs[0] += ranNs);
    }
    return sumNs[0] / 1e9;
  }

  /** Takes the folder of a thread in {@code /proc}, and for how many nanoseconds the thread has run so far. */
  public interface Visitor {
    void visit(Path thread, long ranNs) throws IOException;
  }

  /** Visits the threads of a process, but for those that end meanwhile. */
  public static void forEachThread(long pid, Visitor visitor) throws IOException {
    try (DirectoryStream<Path> threads =
        Files.newDirectoryStream(Path.of("/proc", Long.toString(pid), "task"))) {
      for (Path thread : threads) {
        try {
          String schedstat = Files.readString(thread.resolve("schedstat"));
          visitor.visit(thread, Long.parseLong(schedstat.substring(0, schedstat.indexOf(' '))));
        } catch (NoSuchFileException e) {
          // The thread has ended.
        }
      }
    }
  }
}
