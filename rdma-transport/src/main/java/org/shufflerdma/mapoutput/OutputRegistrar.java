/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.memory.BudgetExhaustedException;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.ProcessLimits;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes one output after the other known to the device, and takes it back, as far as there is room. Any
 * thread may call; two calls never have the same output.
 */
final class OutputRegistrar {
  private static final Logger LOG = LoggerFactory.getLogger(OutputRegistrar.class);

  private final ProtectionDomain domain;
  private final RegisteredArena arena;
  private final DescriptorSeal seal;
  private final OutputRoom room;
  private final int access;
  private final RegistrationPause pause;
  private final AtomicLong generations = new AtomicLong();
  private final AtomicLong registeredBytes = new AtomicLong();

  /**
   * @param arena holds the descriptors
   * @param limits of the process
   */
  OutputRegistrar(
      ProtectionDomain domain,
      RegisteredArena arena,
      OutputPaging paging,
      ProcessLimits limits,
      DescriptorSeal seal,
      LongSupplier nanoClock) {
    this.domain = domain;
    this.arena = arena;
    this.seal = seal;
    this.access = paging.access();
    this.room =
        new OutputRoom(paging.budgetBeside(arena.budget()), limits, domain.costOfFile(access));
    this.pause = new RegistrationPause(nanoClock);
  }

  /** Refuses an output for which there is no room, and every output while registrations fail. */
  void admit(long lengthBytes) throws NotPublishedException {
    pause.refuseWhilePaused();
    room.require(lengthBytes);
  }

  /** Writes the descriptor of an output that nobody can read yet. */
  PublishedOutput announce(MapOutputFile output, long lengthBytes) throws NotPublishedException {
    try {
      return PublishedOutput.announce(
          output, lengthBytes, generations.incrementAndGet() & 0xFFFF_FFFFL, arena, seal, room);
    } catch (BudgetExhaustedException e) {
      throw new NotPublishedException(UnpublishedReason.BUDGET, String.valueOf(e.getMessage()), e);
    } catch (IOException e) {
      pause.note(false);
      throw new NotPublishedException(
          UnpublishedReason.REGISTRATION,
          "no descriptor for " + output.dataFile() + ": " + e.getMessage(),
          e);
    }
  }

  /** Registers an output, for which it takes room. */
  void register(PublishedOutput output) throws NotPublishedException {
    room.take(output.lengthBytes());
    try {
      output.register(domain, access);
      pause.note(true);
      registeredBytes.addAndGet(output.lengthBytes());
    } catch (NotPublishedException e) {
      if (e.reason() == UnpublishedReason.REGISTRATION) {
        pause.note(false);
      }
      throw e;
    }
  }

  /** Ends the registration, if there is one, and gives its room back. */
  void release(PublishedOutput output) {
    try {
      if (output.release()) {
        room.giveBack(output.lengthBytes());
        registeredBytes.addAndGet(-output.lengthBytes());
      }
    } catch (IOException e) {
      LOG.error("Leaking {} bytes that could not be given back", output.lengthBytes(), e);
    }
  }

  /** Returns the registered bytes of map outputs, without those of their descriptors. */
  long registeredBytes() {
    return registeredBytes.get();
  }
}
