/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.Checksum;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.io.LZ4CompressionCodec;
import org.apache.spark.network.shuffle.checksum.ShuffleChecksumHelper;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleExecutorComponents;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;

/**
 * Spark's files of map outputs and of what is spilled of them, as an executor's settings want them. One per executor; any
 * thread may call.
 */
public final class MapOutputFiles {
  private final BlockManager blocks;
  private final SerializerManager serializers;
  private final LocalDiskShuffleExecutorComponents outputs;
  private final @Nullable String checksumAlgorithm;

  /** 0 if blocks are not compressed by LZ4, or Spark's codec would refuse the size. */
  private final int lz4Bytes;

  public MapOutputFiles(SparkEnv env, IndexShuffleBlockResolver resolver) {
    SparkConf conf = env.conf();
    blocks = env.blockManager();
    serializers = env.serializerManager();
    outputs = new LocalDiskShuffleExecutorComponents(conf, blocks, resolver);
    checksumAlgorithm = (boolean) conf.get(package$.MODULE$.SHUFFLE_CHECKSUM_ENABLED())
        ? conf.get(package$.MODULE$.SHUFFLE_CHECKSUM_ALGORITHM())
        : null;
    long frameBytes = compressesByLz4(conf)
        ? (long) conf.get(package$.MODULE$.IO_COMPRESSION_LZ4_BLOCKSIZE())
        : 0;
    lz4Bytes = Lz4Encoding.accepts(frameBytes) ? (int) frameBytes : 0;
  }

  private static boolean compressesByLz4(SparkConf conf) {
    return (boolean) conf.get(package$.MODULE$.SHUFFLE_COMPRESS())
        && CompressionCodec$.MODULE$.createCodec(conf).getClass() == LZ4CompressionCodec.class;
  }

  /** Makes a map output of Spark's shuffle, which its caller commits or aborts. */
  ShuffleMapOutputWriter newOutput(int shuffleId, long mapId, int partitions) {
    return outputs.createMapOutputWriter(shuffleId, mapId, partitions);
  }

  BlockEncoding newEncoding(int shuffleId, long mapId) {
    BlockId block = new ShuffleBlockId(shuffleId, mapId, 0); // Spark asks what kind of block it is
    return lz4Bytes > 0
        ? new Lz4Encoding(lz4Bytes, serializers::wrapForEncryption)
        : new StreamEncoding(file -> serializers.wrapStream(block, file));
  }

  SpillFile newSpillFile(int partitions) throws IOException {
    return new SpillFile(
        blocks.diskBlockManager().createTempShuffleBlock()._2(),
        partitions,
        (OutputStream file) -> serializers.wrapForEncryption(file),
        (InputStream file) -> serializers.wrapForEncryption(file));
  }

  /** Returns a new checksum of the bytes of a block, or null if Spark keeps none. */
  @Nullable
  Checksum newChecksum() {
    return checksumAlgorithm == null
        ? null
        : ShuffleChecksumHelper.createPartitionChecksums(1, checksumAlgorithm)[0];
  }

  MapStatus newStatus(long[] lengths, long mapId, long recordChecksum) {
    return MapStatuses.of(blocks.shuffleServerId(), lengths, mapId, recordChecksum);
  }
}
