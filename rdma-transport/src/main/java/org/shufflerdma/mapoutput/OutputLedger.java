/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The accounts of a {@link MapOutputRegistry}: which outputs of which shuffle are readable, wait for
 * room, or are withdrawn, and which of them make room for others. It decides and does nothing else;
 * its owner withdraws, registers and gives back. The owner's lock guards it.
 *
 * @param <O> an output
 */
final class OutputLedger<O> {
  /** The outputs of one shuffle, from its first use until it is removed. */
  static final class Shuffle<O> {
    private final int id;
    private final Deque<O> readable = new ArrayDeque<>();
    private final Deque<O> waiting = new ArrayDeque<>();
    private final List<O> withdrawn = new ArrayList<>();
    private int users;
    private boolean removed;

    private Shuffle(int id) {
      this.id = id;
    }

    int id() {
      return id;
    }

    boolean isRemoved() {
      return removed;
    }

    private boolean isIdle() {
      return users == 0;
    }

    private boolean isEmpty() {
      return readable.isEmpty() && waiting.isEmpty() && withdrawn.isEmpty();
    }

    private List<O> all() {
      List<O> all = new ArrayList<>(readable);
      all.addAll(waiting);
      all.addAll(withdrawn);
      return all;
    }
  }

  /**
   * A waiting output whose turn it is.
   *
   * @param fits whether there is room for it now; else room can be made
   */
  record Turn<O>(Shuffle<O> shuffle, O output, boolean fits) {}

  private final ToLongFunction<O> bytesOf;

  /** The shuffle comes first whose last use by a task of this executor began longest ago. */
  private final Map<Integer, Shuffle<O>> shuffles = new LinkedHashMap<>(16, 0.75f, true);

  /** Withdrawn, but still in their grace and therefore in the budget. */
  private final Set<O> leaving = new HashSet<>();

  private long leavingBytes;

  /**
   * A ledger without outputs.
   *
   * @param bytesOf what an output takes of the budget while it is registered
   */
  OutputLedger(ToLongFunction<O> bytesOf) {
    this.bytesOf = bytesOf;
  }

  /** A task begins to use the shuffle, which is then not withdrawn from. */
  Shuffle<O> use(int shuffleId) {
    Shuffle<O> shuffle = shuffles.get(shuffleId);
    if (shuffle == null) {
      shuffle = new Shuffle<>(shuffleId);
      shuffles.put(shuffleId, shuffle);
    }
    shuffle.users++;
    return shuffle;
  }

  void endUse(Shuffle<O> shuffle) {
    shuffle.users--;
    if (shuffle.isIdle() && shuffle.isEmpty()) {
      shuffles.remove(shuffle.id, shuffle);
    }
  }

  boolean isInUse(int shuffleId) {
    Shuffle<O> shuffle = shuffles.get(shuffleId);
    return shuffle != null && !shuffle.isIdle();
  }

  /** The shuffle is the one used last. */
  void touch(Shuffle<O> shuffle) {
    var unused = shuffles.get(shuffle.id);
  }

  void addReadable(Shuffle<O> shuffle, O output) {
    shuffle.readable.add(output);
  }

  void addWaiting(Shuffle<O> shuffle, O output) {
    shuffle.waiting.add(output);
  }

  long waiting() {
    return shuffles.values().stream()
        .mapToLong(shuffle -> shuffle.waiting.size())
        .sum();
  }

  /** A waiting output has been registered, or could not be. */
  void registered(Turn<O> turn, boolean readable) {
    Shuffle<O> shuffle = turn.shuffle();
    if (shuffle.waiting.remove(turn.output())) {
      (readable ? shuffle.readable : shuffle.withdrawn).add(turn.output());
    }
  }

  /** Drops one output; false if it is not known. */
  boolean forget(int shuffleId, O output) {
    Shuffle<O> shuffle = shuffles.get(shuffleId);
    return shuffle != null
        && (shuffle.readable.remove(output)
            || shuffle.waiting.remove(output)
            || shuffle.withdrawn.remove(output));
  }

  /** Drops a shuffle; what of it is registered leaves. Its outputs are returned. */
  List<O> remove(int shuffleId) {
    Shuffle<O> shuffle = shuffles.remove(shuffleId);
    if (shuffle == null) {
      return List.of();
    }
    shuffle.removed = true;
    leave(shuffle.readable);
    return shuffle.all();
  }

  /** Drops all shuffles and returns their outputs. */
  List<O> removeAll() {
    List<O> all = new ArrayList<>();
    shuffles.values().forEach(shuffle -> all.addAll(shuffle.all()));
    shuffles.clear();
    return all;
  }

  private void leave(Collection<O> outputs) {
    leaving.addAll(outputs);
    leavingBytes += bytes(outputs);
  }

  /** What the output took of the budget has been given back, or never will be. */
  void left(O output) {
    if (leaving.remove(output)) {
      leavingBytes -= bytesOf.applyAsLong(output);
    }
  }

  private long bytes(Collection<O> outputs) {
    return outputs.stream().mapToLong(bytesOf).sum();
  }

  /**
   * Chooses outputs to be withdrawn, of shuffles that nobody here uses, longest unused first, until
   * {@code bytes} more would leave {@code keptFree}. It stops at the shuffle they are for, and
   * chooses none if the bytes would not fit even without all of those.
   */
  List<O> makeRoom(Shuffle<O> forShuffle, long bytes, long keptFree, long freeBytes) {
    long missing = bytes - freeBytes - leavingBytes;
    List<O> chosen = new ArrayList<>();
    if (missing + keptFree <= 0 || missing > withdrawableBytes(forShuffle)) {
      return chosen;
    }
    long chosenBytes = 0;
    for (Shuffle<O> shuffle : withdrawable(forShuffle)) {
      while (chosenBytes < missing + keptFree && !shuffle.readable.isEmpty()) {
        O output = shuffle.readable.remove();
        shuffle.withdrawn.add(output);
        chosen.add(output);
        chosenBytes += bytesOf.applyAsLong(output);
      }
    }
    leave(chosen);
    return chosen;
  }

  /** Chooses what makes room for as many outputs of the turn's shuffle as can have it. */
  List<O> makeRoom(Turn<O> turn, long freeBytes) {
    long most = freeBytes + leavingBytes + withdrawableBytes(turn.shuffle());
    long wanted = 0;
    for (O output : turn.shuffle().waiting) {
      long bytes = bytesOf.applyAsLong(output);
      wanted += wanted + bytes <= most ? bytes : 0;
    }
    return makeRoom(turn.shuffle(), wanted, 0, freeBytes);
  }

  private List<Shuffle<O>> withdrawable(Shuffle<O> forShuffle) {
    List<Shuffle<O>> idle = new ArrayList<>();
    for (Shuffle<O> shuffle : shuffles.values()) {
      if (shuffle == forShuffle) {
        break;
      }
      if (shuffle.isIdle()) {
        idle.add(shuffle);
      }
    }
    return idle;
  }

  private long withdrawableBytes(Shuffle<O> forShuffle) {
    return withdrawable(forShuffle).stream()
        .mapToLong(shuffle -> bytes(shuffle.readable))
        .sum();
  }

  /**
   * The next waiting output, of the shuffle used last first. An output for which there is no room and
   * none can be made is passed over, so that it keeps no smaller one waiting. Null if that is so of
   * all that wait.
   */
  @Nullable
  Turn<O> nextTurn(long freeBytes) {
    List<Shuffle<O>> lastUsedLast = new ArrayList<>(shuffles.values());
    for (int i = lastUsedLast.size() - 1; i >= 0; i--) {
      Shuffle<O> shuffle = lastUsedLast.get(i);
      if (!shuffle.waiting.isEmpty()) {
        long most = freeBytes + leavingBytes + withdrawableBytes(shuffle);
        for (O output : shuffle.waiting) {
          long bytes = bytesOf.applyAsLong(output);
          if (bytes <= most) {
            return new Turn<>(shuffle, output, bytes <= freeBytes);
          }
        }
      }
    }
    return null;
  }
}
