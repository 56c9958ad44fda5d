/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import org.shufflerdma.memory.SlabMemory;
import org.shufflerdma.staging.StagingBudget;
import org.shufflerdma.verbs.NativeMemory;

/**
 * The memory into which one job's map outputs are READ, and which its reducers map. Its bytes count in the budget of the service,
 * where the job comes before others that hold more, and there is no more of it than the file system has room for. Any thread may call.
 */
final class SharedSlabs implements SlabMemory {
  private final SharedFolder folder;
  private final StagingBudget budget;

  SharedSlabs(SharedFolder folder, StagingBudget budget) {
    this.folder = folder;
    this.budget = budget;
  }

  @Override
  public NativeMemory allocate(long bytes, boolean hugePages) throws IOException {
    return NativeMemory.ofFile(folder.newFile(), bytes);
  }

  @Override
  public boolean tryTake(long bytes) {
    if (bytes > folder.usableBytes()) {
      return false; // without a place in the line: nobody needs to give way
    }
    return budget.tryTake(this, bytes);
  }

  @Override
  public long excessWith(long bytes) {
    return Math.max(budget.excessWith(bytes), bytes - folder.usableBytes());
  }

  @Override
  public void giveBack(long bytes) {
    budget.giveBack(this, bytes);
  }

  /** Whether others should have what the job does not use. */
  boolean isToGiveWay(long bytes, long turnNs) {
    return budget.isToGiveWay(this, bytes, turnNs);
  }
}
