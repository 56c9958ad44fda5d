/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.doctor;

import java.io.IOException;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEnv;
import scala.Function1;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/** Takes the executors' turns to the {@link Desk}. Ends with the driver's RPC environment. */
record DeskEndpoint(RpcEnv rpcEnv, Desk desk) implements RpcEndpoint {
  @Override
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
    return new Reply(context, desk);
  }

  private static final class Reply extends AbstractPartialFunction<Object, BoxedUnit> {
    private final transient RpcCallContext context;
    private final transient Desk desk;

    Reply(RpcCallContext context, Desk desk) {
      this.context = context;
      this.desk = desk;
    }

    @Override
    public boolean isDefinedAt(Object request) {
      return request instanceof byte[];
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A, B> B applyOrElse(A request, Function1<A, B> otherwise) {
      if (!(request instanceof byte[] turn)) {
        return otherwise.apply(request);
      }
      try {
        context.reply(desk.receive(turn));
      } catch (IOException e) {
        context.sendFailure(e);
      }
      return (B) BoxedUnit.UNIT;
    }
  }
}
