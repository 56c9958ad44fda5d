/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.beneath;

import java.lang.reflect.Field;
import java.util.function.UnaryOperator;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManager;

/**
 * The client that Spark's block iterators ask for blocks, whichever shuffle manager opens them. It is a private field of
 * {@link BlockManager}, which Spark sets once.
 */
public final class BlockManagerClient {
  private static final String FIELD = "blockStoreClient";

  private BlockManagerClient() {}

  /**
   * Puts another client in the place of the block manager's.
   *
   * @param replacement makes it of the one that is there
   * @throws ReflectiveOperationException if this Spark has no such field
   * @throws RuntimeException if the JVM does not let it be set
   */
  public static void replace(BlockManager manager, UnaryOperator<BlockStoreClient> replacement)
      throws ReflectiveOperationException {
    Field field = BlockManager.class.getDeclaredField(FIELD);
    field.setAccessible(true);
    field.set(manager, replacement.apply((BlockStoreClient) field.get(manager)));
  }
}
