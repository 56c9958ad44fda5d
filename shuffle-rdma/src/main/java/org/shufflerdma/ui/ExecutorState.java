/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import org.jspecify.annotations.Nullable;

/**
 * What an executor has of RDMA at a moment. Event logs and the disks of history servers have it as JSON, therefore the public fields. A
 * field may be added, as Spark passes over an event with a field that it does not know, but none may change its type. Not changed once it
 * has been made.
 */
public final class ExecutorState {
  public String executorId = "";
  public String host = "";

  /** The name of the device, or null if there is no RDMA. */
  public @Nullable String device;

  /** Position of the device in the list of devices, from 1; 0 if it is not one of several. */
  public int rail;

  /** To peers that this executor reads from. */
  public int connections;

  public long registeredBytes;

  /** The most that there were at the end of a task, or at an earlier report. */
  public long peakRegisteredBytes;

  /** The budget of those. */
  public long maxRegisteredBytes;

  /** Why there is no RDMA, or null. */
  public @Nullable String withoutRdma;

  /** For Jackson, and for whoever sets the fields. */
  public ExecutorState() {}
}
