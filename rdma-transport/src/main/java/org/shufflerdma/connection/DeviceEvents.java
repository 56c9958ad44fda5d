/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.concurrent.LoopThread;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.verbs.AsyncEvent;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The asynchronous events of one opened device. rdma_cm opens each device once for the process, so one thread
 * takes its events and tells all transports on it, which know what is theirs. The thread starts with the first
 * of them and ends with the last.
 */
final class DeviceEvents {
  private static final Logger LOG = LoggerFactory.getLogger(DeviceEvents.class);
  private static final int WAIT_MS = 200;

  /** Of the devices that transports use, and guarded by itself. It belongs to the process, as the devices do. */
  private static final Map<DeviceContext, DeviceEvents> OF_DEVICES = new HashMap<>();

  /** A transport on the device. The thread of the events calls, so it must not block. */
  interface Subscriber {
    /** Told of every event, also of those that concern other transports. */
    void happened(AsyncEvent event);

    void threadDied(Throwable cause);
  }

  private final DeviceContext device;

  /** Lets a line on the ports through now and then, as they may flap. */
  private final LogThrottle portLog =
      new LogThrottle(TimeUnit.SECONDS.toNanos(10), System::nanoTime);

  private final LoopThread thread;
  private volatile boolean dead;
  private final List<Subscriber> subscribers = new CopyOnWriteArrayList<>();

  private DeviceEvents(DeviceContext device) {
    this.device = device;
    this.thread = new LoopThread("rdma-async-" + device.name(), this::turn);
  }

  private static DeviceEvents start(DeviceContext device) {
    DeviceEvents started = new DeviceEvents(device);
    started.thread.start(started::died);
    return started;
  }

  /** Tells the transport from now on, until the result is closed, which the thread of the events must not do. */
  static AutoCloseable subscribe(DeviceContext device, Subscriber subscriber) {
    synchronized (OF_DEVICES) {
      DeviceEvents events =
          OF_DEVICES.compute(device, (key, of) -> of == null || of.dead ? start(key) : of);
      events.subscribers.add(subscriber);
      return () -> events.unsubscribe(subscriber);
    }
  }

  /** Under the lock, so that no second thread takes events before this one has ended. */
  private void unsubscribe(Subscriber subscriber) throws InterruptedException {
    synchronized (OF_DEVICES) {
      if (subscribers.remove(subscriber) && subscribers.isEmpty()) {
        OF_DEVICES.remove(device, this);
        thread.stop();
      }
    }
  }

  private void turn() throws VerbsException {
    AsyncEvent event = device.pollAsyncEvent(WAIT_MS);
    if (event == null) {
      return;
    }
    if (isOfPort(event) ? portLog.tryLog() >= 0 : event.isOfDeviceOrPort()) {
      LOG.warn("Device {} reports {}", device.name(), event);
    } else {
      LOG.debug("Device {} reports {}", device.name(), event);
    }
    for (Subscriber subscriber : subscribers) {
      try {
        subscriber.happened(event);
      } catch (RuntimeException | Error e) { // the other transports must be told as well
        LOG.error("A transport could not handle {}", event, e);
      }
    }
  }

  private static boolean isOfPort(AsyncEvent event) {
    return switch (event.type()) {
      case AsyncEvent.PORT_ERR, AsyncEvent.PORT_ACTIVE, AsyncEvent.GID_CHANGE -> true;
      default -> false;
    };
  }

  /** In the thread, for whose end somebody may wait with the lock. */
  private void died(Throwable cause) {
    dead = true; // whoever subscribes from now on has another thread
    subscribers.forEach(subscriber -> subscriber.threadDied(cause));
  }
}
