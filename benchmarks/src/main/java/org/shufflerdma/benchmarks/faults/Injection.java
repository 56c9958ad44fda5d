/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * A fault in a job: it is requested from the device, acted on when its moment comes, and undone.
 */
final class Injection {
  private static final int POLL_MS = 1;

  private final List<DeviceProcess> processes;
  private final DeviceProcess target;
  private final Fault fault;
  private boolean struck;

  /** @param processes the executors first; after them others that the fault may strike */
  Injection(List<DeviceProcess> processes, Fault fault) {
    this.processes = processes;
    this.target = processes.get(fault.executor());
    this.fault = fault;
  }

  /** Requests the fault, submits the job, and returns when the action, if there is one, is done. */
  <T> Future<T> start(Supplier<Future<T>> submit) throws IOException, InterruptedException {
    target.command("set " + fault.rule());
    for (String command : fault.before()) {
      target.command(command);
    }
    Future<T> job = submit.get();
    String action = fault.action();
    while (action != null && !job.isDone() && !struck) {
      TimeUnit.MILLISECONDS.sleep(POLL_MS);
      struck = isCounted();
      if (struck) {
        act(action.split(" ", -1));
      }
    }
    return job;
  }

  private void act(String[] words) throws IOException, InterruptedException {
    switch (words[0]) {
      case "kill" -> target.kill();
      case "stop" -> {
        target.signal("STOP");
        TimeUnit.MILLISECONDS.sleep(Long.parseLong(words[1]));
        target.signal("CONT");
      }
      case "unlink" -> target.unlinkMappedOutputs();
      case "continue" -> {
        TimeUnit.MILLISECONDS.sleep(Long.parseLong(words[1]));
        continueAll();
      }
      default -> target.command(String.join(" ", words));
    }
  }

  private void continueAll() throws IOException, InterruptedException {
    for (DeviceProcess process : processes) {
      if (process.isAlive()) {
        process.signal("CONT");
      }
    }
  }

  private boolean isCounted() throws IOException {
    List<DeviceProcess.RuleCount> counts = target.counts();
    return counts.get(counts.size() - 1).hits() > 0;
  }

  /** Returns whether the fault struck. To be called after the job and before {@link #end}. */
  boolean hasStruck() throws IOException {
    return struck || (target.isAlive() && isCounted());
  }

  /** Removes the fault from the devices of the processes that still live. */
  void end() throws IOException, InterruptedException {
    continueAll();
    for (DeviceProcess process : processes) {
      try {
        process.command("clear");
        process.command("links heal");
      } catch (IOException e) {
        if (process.isAlive()) {
          throw e;
        }
      }
    }
  }
}
