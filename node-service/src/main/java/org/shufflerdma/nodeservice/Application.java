/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One application that the service serves: its grant, and from its first reader on a protection domain, a
 * listener and a staging server of its own. Another application's key is therefore worth nothing on its
 * connections. Any thread may call; its owner closes it.
 */
final class Application implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Application.class);

  /** Between two attempts to open what serves the readers. */
  private static final int PAUSE_MS = 5_000;

  /** What nobody has looked up or connected to for so long gives its threads back. */
  private static final long UNUSED_NS = TimeUnit.MINUTES.toNanos(2);

  private final NodeDevice device;
  private volatile Grant grant;
  private volatile long grantBytes;
  private final GrantedOutputs outputs = new GrantedOutputs(this::grant);
  private final Acquired acquired = new Acquired();

  /** Which read for it, and end with it. */
  private final Set<Reducer> reducers = ConcurrentHashMap.newKeySet();

  /** Written under this. */
  private volatile @Nullable Serving serving;

  /** Whether what serves readers has ended by itself, or could not be opened. Written under this. */
  private volatile boolean failed;

  // Guarded by this.
  private Deadline pause = Deadline.afterMs(0);
  private long usedNs = System.nanoTime();
  private volatile boolean closed;

  /** What serves the readers while somebody uses it. */
  private record Serving(RdmaTransport transport, @Nullable JobReads reads, Acquired acquired) {}

  Application(NodeDevice device, Grant grant) throws IOException {
    this.device = device;
    this.grant = grant;
    this.grantBytes = grant.bytes();
    acquired.keep(device.accept(grant.deviceSecret()));
  }

  Grant grant() {
    return grant;
  }

  /** What is kept of it, in memory and, at most twice, on disk. */
  long grantBytes() {
    return grantBytes;
  }

  void grant(Grant changed) {
    grant = changed;
    grantBytes = changed.bytes();
  }

  /** Where the application's readers connect. Opens what serves them, which takes a moment. */
  synchronized RdmaEndpoint endpoint() throws IOException {
    usedNs = System.nanoTime();
    return open().transport().endpoint();
  }

  /** Guarded by this. What has lost its device is opened anew, after a pause if that fails. */
  private Serving open() throws IOException {
    if (closed) {
      throw new IOException("the application has ended");
    }
    Serving open = serving;
    if (open != null && !open.transport().hasEnded()) {
      return open;
    }
    if (!pause.expired()) {
      throw new IOException("the device has failed a moment ago");
    }
    pause = Deadline.afterMs(PAUSE_MS);
    failed = true; // until there is another
    if (open != null) {
      endReducers("the device of the job has failed");
      endServing();
    }
    Acquired opening = new Acquired();
    try {
      Serving made = grant.isOfJob() ? openJob(opening) : openServing(opening);
      serving = made;
      failed = false;
      return made;
    } catch (Throwable t) {
      opening.close();
      throw t;
    }
  }

  private Serving openServing(Acquired opening) throws IOException {
    RdmaTransport opened = opening.keep(device.open(grant.identity()));
    opening.keep(device.serve(opened, outputs, grant.uid())::close);
    return new Serving(opened, null, opening);
  }

  /** A job is also read for, by the same transport. */
  private Serving openJob(Acquired opening) throws IOException {
    SharedSlabs slabs = device.newSlabs();
    RdmaTransport opened = opening.keep(device.open(grant.identity(), slabs));
    opening.keep(device.serve(opened, outputs, grant.uid())::close);
    JobReads reads = opening.keep(new JobReads(opened, device, slabs));
    return new Serving(opened, reads, opening);
  }

  /** Reads outputs of other hosts for the job's reducers. Opens what it needs, which takes a moment. */
  synchronized JobReads reads() throws IOException {
    usedNs = System.nanoTime();
    JobReads reads = open().reads();
    if (reads == null) {
      throw new IOException(grant + " is no job");
    }
    return reads;
  }

  /** A reducer that comes after the end is ended at once. Takes no lock, since the loop's thread calls. */
  void add(Reducer reducer) {
    reducers.add(reducer);
    if (closed) {
      reducer.end(new IOException("the application has ended"));
    }
  }

  void remove(Reducer reducer) {
    reducers.remove(reducer);
  }

  /** What they hold would otherwise stay mapped, while it counts no more. */
  private void endReducers(String why) {
    reducers.forEach(reducer -> reducer.end(new IOException(why)));
  }

  /** Guarded by this. */
  private void endServing() {
    Serving ending = serving;
    serving = null;
    if (ending != null) {
      ending.acquired().close();
    }
  }

  /** Whether its readers cannot be served, because its device has failed. */
  boolean hasFailed() {
    Serving open = serving;
    return failed || (open != null && open.transport().hasEnded());
  }

  /** Once in a while: opens anew what has failed, and ends what nobody has used for long. */
  synchronized void look() {
    if (closed) {
      return;
    }
    if (hasFailed()) {
      try {
        open();
        LOG.info("Application {} is served again", grant);
      } catch (IOException | RuntimeException e) {
        LOG.warn("Application {} cannot be served for now: {}", grant, e.toString());
      }
    } else if (connections() > 0 || isReadFor()) {
      usedNs = System.nanoTime();
    } else if (serving != null && System.nanoTime() - usedNs > UNUSED_NS) {
      LOG.debug("Application {} gives back what nobody uses", grant);
      endServing();
    }
  }

  private boolean isReadFor() {
    JobReads reads = openReads();
    return reads != null && reads.isUsed();
  }

  private @Nullable JobReads openReads() {
    Serving open = serving;
    return open == null ? null : open.reads();
  }

  /** Gives up memory for which others wait. */
  void giveWay() {
    JobReads reads = openReads();
    if (reads != null) {
      reads.giveWay();
    }
  }

  int connections() {
    Serving open = serving;
    return open == null ? 0 : open.transport().inboundConnections();
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    endReducers("the application has ended");
    synchronized (this) {
      endServing();
      acquired.close();
    }
  }
}
