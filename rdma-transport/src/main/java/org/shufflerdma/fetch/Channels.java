/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

/**
 * Gives each task the channel to its peers that the fewest tasks use, so that tasks which read at the
 * same time need not wait for one another's posts. Any thread may call.
 */
final class Channels {
  /** How many tasks use each channel. */
  private final int[] tasks;

  Channels(int channels) {
    tasks = new int[channels];
  }

  synchronized int take() {
    int least = 0;
    for (int channel = 1; channel < tasks.length; channel++) {
      if (tasks[channel] < tasks[least]) {
        least = channel;
      }
    }
    tasks[least]++;
    return least;
  }

  synchronized void giveBack(int channel) {
    tasks[channel]--;
  }
}
