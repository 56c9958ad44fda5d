/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.memory.BudgetExhaustedException;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes one output after the other known to the device, and takes it back, within the budget of the
 * arena in which the descriptors stand. Which output has its turn, and which one makes room, is its
 * owner's to decide. Any thread may call; two calls never have the same output.
 */
final class OutputRegistrar {
  private static final Logger LOG = LoggerFactory.getLogger(OutputRegistrar.class);

  private final ProtectionDomain domain;
  private final RegisteredArena arena;
  private final DescriptorSeal seal;
  private final RegistrationBudget budget;
  private final RegistrationPause pause;
  private final AtomicLong generations = new AtomicLong();
  private final AtomicLong registeredBytes = new AtomicLong();

  OutputRegistrar(
      ProtectionDomain domain, RegisteredArena arena, DescriptorSeal seal, LongSupplier nanoClock) {
    this.domain = domain;
    this.arena = arena;
    this.seal = seal;
    this.budget = arena.budget();
    this.pause = new RegistrationPause(nanoClock);
  }

  /** Refuses an output that could never be registered, and every output while registrations fail. */
  void admit(long lengthBytes) throws NotPublishedException {
    pause.refuseWhilePaused();
    long forOutputs = bytesForOutputs();
    if (RegistrationBudget.pages(lengthBytes) > forOutputs) {
      throw new NotPublishedException(
          UnpublishedReason.BUDGET,
          "its " + lengthBytes + " bytes are more than the " + forOutputs
              + " that may be registered beside the descriptors: " + budget);
    }
  }

  /** Writes the descriptor of an output that nobody can read yet. */
  PublishedOutput announce(MapOutputFile output, long lengthBytes) throws NotPublishedException {
    try {
      return PublishedOutput.announce(
          output, lengthBytes, generations.incrementAndGet() & 0xFFFF_FFFFL, arena, seal, budget);
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

  /** Takes the output's bytes from the budget; returns false if there is no room for them. */
  boolean tryTake(PublishedOutput output) {
    return budget.tryTake(output.lengthBytes());
  }

  /** Registers an output whose bytes have been taken from the budget. */
  void register(PublishedOutput output) throws NotPublishedException {
    try {
      output.register(domain);
      pause.note(true);
      registeredBytes.addAndGet(output.lengthBytes());
    } catch (NotPublishedException e) {
      if (e.reason() == UnpublishedReason.REGISTRATION) {
        pause.note(false);
      }
      throw e;
    }
  }

  /** Ends the registration; returns whether the bytes may be given back to the budget. */
  boolean release(PublishedOutput output) {
    try {
      return output.release();
    } catch (IOException e) {
      LOG.error("Leaking {} bytes that could not be given back", output.lengthBytes(), e);
      return false;
    }
  }

  /** Gives the bytes of a released output back to the budget. */
  void giveBack(PublishedOutput output) {
    budget.giveBack(output.lengthBytes());
    registeredBytes.addAndGet(-output.lengthBytes());
  }

  /** Returns the bytes of the budget that descriptors leave to map outputs. */
  long bytesForOutputs() {
    return budget.limitBytes() - arena.registeredBytes();
  }

  long freeBytes() {
    return budget.limitBytes() - budget.usedBytes();
  }

  /** Returns the registered bytes of map outputs, without those of their descriptors. */
  long registeredBytes() {
    return registeredBytes.get();
  }

  /** Describes the budget for log lines. */
  @Override
  public String toString() {
    return budget.toString();
  }
}
