/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.Serializable;
import java.util.Map;
import java.util.function.Consumer;
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
    return new Reports(reports);
  }

  @Override
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
    return new Reply(context, answer);
  }

  private static final class Reports extends AbstractPartialFunction<Object, BoxedUnit> {
    private final transient Consumer<Map<?, ?>> reports;

    Reports(Consumer<Map<?, ?>> reports) {
      this.reports = reports;
    }

    @Override
    public boolean isDefinedAt(Object message) {
      return ExecutorReport.is(message);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A, B> B applyOrElse(A message, Function1<A, B> otherwise) {
      if (!isDefinedAt(message)) {
        return otherwise.apply(message);
      }
      reports.accept((Map<?, ?>) message);
      return (B) BoxedUnit.UNIT;
    }
  }

  private static final class Reply extends AbstractPartialFunction<Object, BoxedUnit> {
    private final transient RpcCallContext context;
    private final transient Serializable answer;

    Reply(RpcCallContext context, Serializable answer) {
      this.context = context;
      this.answer = answer;
    }

    @Override
    public boolean isDefinedAt(Object request) {
      return ApplicationGreeting.REQUEST.equals(request);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A, B> B applyOrElse(A request, Function1<A, B> otherwise) {
      if (!isDefinedAt(request)) {
        return otherwise.apply(request);
      }
      context.reply(answer);
      return (B) BoxedUnit.UNIT;
    }
  }
}
