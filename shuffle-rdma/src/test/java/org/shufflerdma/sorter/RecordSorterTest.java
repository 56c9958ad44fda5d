/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.concurrent.Acquired;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Whatever the records, their order and the memory: they come sorted, all of them, and nothing is left. */
class RecordSorterTest {
  private static final String MOST_RECORDS = "spark.shuffle.spill.numElementsForceSpillThreshold";
  private static final Map<String, String> PLENTY = Map.of();

  /** {@code -Dtest.seed=N} repeats a run. */
  private final long seed = Long.getLong("test.seed", System.nanoTime());

  private final Random random = new Random(seed);

  private static final class OtherConsumer extends MemoryConsumer {
    OtherConsumer(TaskContext context) {
      super(
          context.taskMemoryManager(),
          context.taskMemoryManager().pageSizeBytes(),
          MemoryMode.ON_HEAP);
    }

    @Override
    public long spill(long size, MemoryConsumer trigger) {
      return 0;
    }
  }

  private static RecordSorter<Object, Object> sorter(Comparator<Object> ordering) {
    return sorter(ordering, new KryoSerializer(SparkEnv.get().conf()));
  }

  private static RecordSorter<Object, Object> sorter(
      Comparator<Object> ordering, Serializer serializer) {
    Acquired openOfTask = new Acquired();
    TaskContext.get().addTaskCompletionListener(ended -> {
      openOfTask.close();
    });
    return new RecordSorter<>(SparkEnv.get(), TaskContext.get(), serializer, ordering, openOfTask);
  }

  private static Iterator<Product2<Object, Object>> sort(
      RecordSorter<Object, Object> sorter, Iterator<Product2<Object, Object>> arriving) {
    try {
      return sorter.sort(arriving, () -> 0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Iterator<Product2<Object, Object>> arriving(
      List<Product2<Object, Object>> records) {
    return CollectionConverters.asScala(records.iterator());
  }

  private static List<Product2<Object, Object>> all(Iterator<Product2<Object, Object>> sorted) {
    List<Product2<Object, Object>> all = new ArrayList<>();
    CollectionConverters.asJava(sorted).forEachRemaining(all::add);
    return all;
  }

  /** The values are the numbers of the records in the order of their arrival. */
  private static List<Product2<Object, Object>> records(int count, IntFunction<Object> key) {
    List<Product2<Object, Object>> records = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      records.add(new Tuple2<>(key.apply(i), i));
    }
    return records;
  }

  private static List<Product2<Object, Object>> sorted(
      List<Product2<Object, Object>> records, Comparator<Object> ordering) {
    List<Product2<Object, Object>> sorted = new ArrayList<>(records);
    sorted.sort((one, other) -> ordering.compare(one._1(), other._1())); // is stable
    return sorted;
  }

  @SuppressWarnings("unchecked")
  private static Comparator<Object> natural() {
    return (Comparator<Object>) (Comparator<?>) Comparator.naturalOrder();
  }

  private IntFunction<Object> randomKeys() {
    int different = 1 << random.nextInt(24);
    IntFunction<Object> numbers = switch (random.nextInt(4)) {
      case 0 -> i -> i;
      case 1 -> i -> -i;
      case 2 -> i -> random.nextInt(different) * (i % 100 == 0 ? 1 : 0); // most are equal
      default -> i -> random.nextInt(different);
    };
    return switch (random.nextInt(4)) {
      case 0 -> numbers;
      case 1 -> i -> numbers.apply(i).toString();
      case 2 -> i -> (long) (int) numbers.apply(i) << 32;
      default -> i -> BigInteger.valueOf((int) numbers.apply(i)).pow(3);
    };
  }

  private Comparator<Object> randomOrdering() {
    return switch (random.nextInt(4)) {
      case 0 -> natural().reversed();
      case 1 -> Comparator.comparing(key -> key.hashCode() % 7); // equal for keys that differ
      default -> natural();
    };
  }

  private int randomCount() {
    int[] edges = {0, 1, 2, 255, 256, 257, 512, 16_383, 16_384, 16_385, 32_768, 49_153};
    return random.nextBoolean() ? edges[random.nextInt(edges.length)] : random.nextInt(60_000);
  }

  @Test
  void recordsComeInTheOrderOfTheKeysAndThenOfTheirArrival() {
    SortingTask.run(PLENTY, () -> {
      for (int round = 0; round < 25; round++) {
        List<Product2<Object, Object>> records = records(randomCount(), randomKeys());
        Comparator<Object> ordering = randomOrdering();
        assertThat(all(sort(sorter(ordering), arriving(records))))
            .as("seed %d, round %d", seed, round)
            .isEqualTo(sorted(records, ordering));
      }
      assertThat(TaskContext.get().taskMetrics().diskBytesSpilled()).isZero();
    });
  }

  @ParameterizedTest
  @ValueSource(strings = {"lz4", "plain", "encrypted"})
  void recordsOfManyFilesComeInTheSameOrder(String files) {
    int mostRecords = 1 + random.nextInt(20_000);
    Map<String, String> settings = Map.of(
        MOST_RECORDS,
        Integer.toString(mostRecords),
        "spark.shuffle.spill.batchSize",
        Integer.toString(1 + random.nextInt(3000)),
        "spark.shuffle.compress",
        Boolean.toString(!files.equals("plain")),
        "spark.io.encryption.enabled",
        Boolean.toString(files.equals("encrypted")));
    SortingTask.run(settings, () -> {
      for (int round = 0; round < 8; round++) {
        int count = randomCount() / 2;
        List<Product2<Object, Object>> records =
            records(round == 0 ? Math.max(count, 2 * mostRecords) : count, randomKeys());
        Comparator<Object> ordering = randomOrdering();
        Serializer serializer = random.nextBoolean()
            ? new JavaSerializer(SparkEnv.get().conf())
            : new KryoSerializer(SparkEnv.get().conf());
        assertThat(all(sort(sorter(ordering, serializer), arriving(records))))
            .as("seed %d, round %d, %s", seed, round, settings)
            .isEqualTo(sorted(records, ordering));
      }
      assertThat(TaskContext.get().taskMetrics().diskBytesSpilled()).isPositive();
      assertThat(TaskContext.get().taskMetrics().memoryBytesSpilled()).isPositive();
    });
  }

  @Test
  void recordsGoToAFileWhenAnotherConsumerNeedsTheirMemory() {
    SortingTask.run(Map.of("spark.shuffle.spill.initialMemoryThreshold", "100000"), () -> {
      List<Product2<Object, Object>> records = records(100_000, i -> random.nextInt(1000));
      RecordSorter<Object, Object> sorter = sorter(natural());
      Iterator<Product2<Object, Object>> sorted = sort(sorter, arriving(records));
      List<Product2<Object, Object>> taken = new ArrayList<>();
      for (int i = 0; i < 30_000; i++) {
        taken.add(sorted.next());
      }
      long acquired = sorter.memory().getUsed();
      assertThat(acquired).isPositive();

      OtherConsumer other = new OtherConsumer(TaskContext.get());
      long got = other.acquireMemory(1L << 40); // more than there is
      assertThat(sorter.memory().getUsed()).isZero();
      assertThat(TaskContext.get().taskMetrics().memoryBytesSpilled()).isEqualTo(acquired);
      assertThat(TaskContext.get().taskMetrics().diskBytesSpilled()).isPositive();
      assertThat(sorter.memory().spill(1, other)).isZero();

      taken.addAll(all(sorted));
      assertThat(taken).as("seed %d", seed).isEqualTo(sorted(records, natural()));
      other.freeMemory(got);
    });
  }

  @Test
  void recordsOfFilesAndOfMemoryComeInOrderAfterAnotherConsumerNeededTheMemory() {
    Map<String, String> settings =
        Map.of(MOST_RECORDS, "30000", "spark.shuffle.spill.initialMemoryThreshold", "100000");
    SortingTask.run(settings, () -> {
      List<Product2<Object, Object>> records = records(110_000, i -> random.nextInt(1000));
      RecordSorter<Object, Object> sorter = sorter(natural());
      Iterator<Product2<Object, Object>> sorted = sort(sorter, arriving(records));
      List<Product2<Object, Object>> taken = new ArrayList<>();
      for (int i = 0; i < 50_000; i++) {
        taken.add(sorted.next());
      }
      assertThat(spill(sorter, new OtherConsumer(TaskContext.get()))).isPositive();
      taken.addAll(all(sorted));
      assertThat(taken).as("seed %d", seed).isEqualTo(sorted(records, natural()));
    });
  }

  @Test
  void recordsThatArriveStayInMemoryWhenAnotherConsumerNeedsIt() {
    SortingTask.run(Map.of("spark.shuffle.spill.initialMemoryThreshold", "100000"), () -> {
      RecordSorter<Object, Object> sorter = sorter(natural());
      OtherConsumer other = new OtherConsumer(TaskContext.get());
      List<Product2<Object, Object>> records = records(100_000, i -> i);
      List<Long> freed = new ArrayList<>();
      Iterator<Product2<Object, Object>> watched = arriving(records).map(record -> {
        freed.add(spill(sorter, other));
        assertThat(sorter.memory().getUsed() > 0 || freed.size() < 50_000).isTrue();
        return record;
      });
      assertThat(all(sort(sorter, watched))).isEqualTo(records);
      assertThat(freed).hasSize(records.size()).containsOnly(0L);
    });
  }

  @Test
  void aTaskThatEndsWhileItsRecordsArriveInAnotherThreadLeavesNothing() {
    // The task holds memory when it ends, as with Spark's sorter, and Spark takes it back.
    Map<String, String> settings = Map.of(
        MOST_RECORDS,
        "500",
        "spark.shuffle.spill.initialMemoryThreshold",
        "1000",
        "spark.unsafe.exceptionOnMemoryLeak",
        "false");
    CountDownLatch arrived = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    AtomicReference<RecordSorter<Object, Object>> used = new AtomicReference<>();
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    SortingTask.run(
        settings,
        () -> {
          RecordSorter<Object, Object> sorter = sorter(natural());
          used.set(sorter);
          Iterator<Product2<Object, Object>> arriving = arriving(records(5000, i -> -i))
              .map(record -> {
                if (record._2().equals(1200)) {
                  arrived.countDown();
                  await(ended);
                }
                return record;
              });
          threads.add(new Thread(() -> {
            try {
              all(sort(sorter, arriving));
            } catch (Throwable e) {
              thrown.set(e);
            }
          }));
          threads.get(0).start();
          await(arrived);
          assertThat(sorter.memory().getUsed()).isPositive();
        },
        () -> {
          ended.countDown();
          join(threads.get(0));
          assertThat(SparkEnv.get().memoryManager().executionMemoryUsed()).isZero();
        });
    assertThat(used.get())
        .isNotNull()
        .extracting(sorter -> sorter.memory().getUsed())
        .isEqualTo(0L);
    assertThat(thrown.get())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("ended");
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join(60_000);
      assertThat(thread.isAlive()).isFalse();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void whatTheRecordsThrowAsTheyArrivePassesUnchangedAndLeavesNothing() {
    SortingTask.run(Map.of(MOST_RECORDS, "500"), () -> {
      IllegalStateException failure = new IllegalStateException("of a block");
      Iterator<Product2<Object, Object>> arriving = arriving(records(5000, i -> i))
          .map(record -> {
            if (record._2().equals(1200)) {
              throw failure;
            }
            return record;
          });
      assertThatThrownBy(() -> sort(sorter(natural()), arriving)).isSameAs(failure);
      assertThat(SparkEnv.get().blockManager().diskBlockManager().getAllFiles().isEmpty())
          .isTrue();
    });
  }

  private static long spill(RecordSorter<?, ?> sorter, MemoryConsumer trigger) {
    try {
      return sorter.memory().spill(1, trigger);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** 0.6 * (480 - 300) of the task, 5 that are free, and 32 records, with the last of which it is noticed. */
  private static final long MOST_MIB = 108 + 5 + 33;

  @Test
  void recordsThatExceedTheMemoryOfTheTaskGoToFiles() {
    SortingTask.run(Map.of("spark.testing.memory", Integer.toString(480 << 20)), () -> {
      byte[] value = new byte[1 << 20];
      Iterator<Product2<Object, Object>> arriving = arriving(
              records(400, i -> Integer.reverse(i) >>> 8))
          .map(record -> new Tuple2<>(record._1(), Arrays.copyOf(value, value.length)));
      List<Object> keys = new ArrayList<>();
      Iterator<Product2<Object, Object>> sorted = sort(sorter(natural()), arriving);
      while (sorted.hasNext()) {
        Product2<Object, Object> record = sorted.next();
        assertThat((byte[]) record._2()).hasSize(value.length);
        keys.add(record._1());
      }
      assertThat(keys).hasSize(400).isSortedAccordingTo(natural());
      assertThat(TaskContext.get().taskMetrics().memoryBytesSpilled()).isGreaterThan(100L << 20);
      assertThat(TaskContext.get().taskMetrics().peakExecutionMemory())
          .isBetween(5L << 20, MOST_MIB << 20);
    });
  }

  @Test
  void recordsThatAreInAFileAreNotInMemoryAnyMore() {
    SortingTask.run(Map.of(MOST_RECORDS, "100"), () -> {
      List<WeakReference<Object>> values = new ArrayList<>();
      Iterator<Product2<Object, Object>> arriving = arriving(records(150, i -> -i))
          .map(record -> {
            if ((int) record._2() == 140) {
              System.gc();
              assertThat(values.subList(0, 100)).allMatch(value -> value.get() == null);
            }
            byte[] value = new byte[100];
            values.add(new WeakReference<>(value));
            return new Tuple2<>(record._1(), value);
          });
      assertThat(all(sort(sorter(natural()), arriving))).hasSize(150);
    });
  }

  @Test
  void nullsAreKeysLikeOthersIfTheOrderingTakesThem() {
    SortingTask.run(Map.of(MOST_RECORDS, "300"), () -> {
      Comparator<Object> ordering = Comparator.nullsLast(natural());
      List<Product2<Object, Object>> records =
          records(2000, i -> i % 3 == 0 ? null : random.nextInt(100));
      assertThat(all(sort(sorter(ordering), arriving(records))))
          .as("seed %d", seed)
          .isEqualTo(sorted(records, ordering));
    });
  }

  @Test
  void whatTheOrderingThrowsEndsTheSortAndLeavesNothing() {
    SortingTask.run(Map.of(MOST_RECORDS, "700"), () -> {
      for (int calls : new int[] {0, 100, 10_000, 30_000}) {
        int[] left = {calls};
        Comparator<Object> ordering = (one, other) -> {
          if (left[0]-- == 0) {
            throw new IllegalStateException("of the ordering");
          }
          return natural().compare(one, other);
        };
        List<Product2<Object, Object>> records = records(3000, i -> random.nextInt());
        assertThatThrownBy(() -> all(sort(sorter(ordering), arriving(records))))
            .as("seed %d, call %d", seed, calls)
            .isInstanceOf(IllegalStateException.class)
            .hasMessage("of the ordering");
      }
    });
  }

  @Test
  void anOrderingThatContradictsItselfLosesNoRecord() {
    SortingTask.run(Map.of(MOST_RECORDS, "20000"), () -> {
      List<Product2<Object, Object>> records = records(50_000, i -> i);
      Comparator<Object> ordering = (unusedOne, unusedOther) -> random.nextInt(3) - 1;
      List<Product2<Object, Object>> taken = all(sort(sorter(ordering), arriving(records)));
      assertThat(sorted(taken, natural())).as("seed %d", seed).isEqualTo(records);
    });
  }

  @Test
  void aSortOfWhichNotAllIsTakenLeavesNothing() {
    SortingTask.run(Map.of(MOST_RECORDS, "500"), () -> {
      Iterator<Product2<Object, Object>> sorted =
          sort(sorter(natural()), arriving(records(50_000, i -> -i)));
      assertThat(sorted.next()._1()).isEqualTo(-49_999);
      assertThat(SparkEnv.get().blockManager().diskBlockManager().getAllFiles().size())
          .isGreaterThan(10);
    });
  }

  @Test
  void aFileThatWasCutFailsTheSort() {
    SortingTask.run(Map.of(MOST_RECORDS, "20000", "spark.shuffle.compress", "false"), () -> {
      Iterator<Product2<Object, Object>> sorted =
          sort(sorter(natural()), arriving(records(50_000, i -> random.nextInt())));
      CollectionConverters.asJava(
              SparkEnv.get().blockManager().diskBlockManager().getAllFiles())
          .forEach(RecordSorterTest::cut);
      assertThatThrownBy(() -> all(sorted)).isInstanceOf(EOFException.class);
    });
  }

  private static void cut(File file) {
    try (RandomAccessFile open = new RandomAccessFile(file, "rw")) {
      open.setLength(file.length() / 2);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The fewest comparisons with which any sort can do are log2(n!) on average. */
  @Test
  void theOrderingIsAskedLittleMoreOftenThanNecessary() {
    SortingTask.run(PLENTY, () -> {
      int count = 100_000;
      long[] calls = {0};
      Comparator<Object> ordering = (one, other) -> {
        calls[0]++;
        return natural().compare(one, other);
      };
      all(sort(sorter(ordering), arriving(records(count, i -> random.nextInt()))));
      double necessary = count * (Math.log(count) - 1) / Math.log(2);
      assertThat(calls[0]).as("seed %d", seed).isBetween((long) necessary, (long)
          (1.08 * necessary));

      calls[0] = 0;
      all(sort(sorter(ordering), arriving(records(count, i -> i))));
      assertThat(calls[0]).as("of records that arrive in order").isEqualTo(count - 1);
    });
  }
}
