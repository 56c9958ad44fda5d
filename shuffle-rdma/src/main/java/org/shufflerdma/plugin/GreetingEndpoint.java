/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.Serializable;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEnv;
import scala.Function1;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/** Answers the executors' greeting on the driver. Ends with the driver's RPC environment. */
record GreetingEndpoint(RpcEnv rpcEnv, Serializable answer) implements RpcEndpoint {
  @Override
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
    return new Reply(context, answer);
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
