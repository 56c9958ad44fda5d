/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.Serializable;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEnv;
import scala.Function1;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Answers the executors' greeting on the driver, and takes their reports. Ends with the driver's RPC environment.
 *
 * @param reports gets what {@link ExecutorReport#is}
 */
record GreetingEndpoint(RpcEnv rpcEnv, Serializable answer, Consumer<Map<?, ?>> reports)
    implements RpcEndpoint {
  @Override
  public PartialFunction<Object, BoxedUnit> receive() {
    return new Handler(ExecutorReport::is, report -> reports.accept((Map<?, ?>) report));
  }

  @Override
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
    return new Handler(ApplicationGreeting.REQUEST::equals, request -> context.reply(answer));
  }

  private static final class Handler extends AbstractPartialFunction<Object, BoxedUnit> {
    private final transient Predicate<Object> handles;
    private final transient Consumer<Object> handler;

    Handler(Predicate<Object> handles, Consumer<Object> handler) {
      this.handles = handles;
      this.handler = handler;
    }

    @Override
    public boolean isDefinedAt(Object message) {
      return handles.test(message);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A, B> B applyOrElse(A message, Function1<A, B> otherwise) {
      if (!isDefinedAt(message)) {
        return otherwise.apply(message);
      }
      handler.accept(message);
      return (B) BoxedUnit.UNIT;
    }
  }
}
