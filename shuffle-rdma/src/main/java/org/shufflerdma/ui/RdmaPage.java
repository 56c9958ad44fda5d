/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.ui.UIUtils$;
import org.apache.spark.ui.WebUIPage;
import org.apache.spark.util.kvstore.KVStore;
import org.apache.spark.util.kvstore.KVStoreIterator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function0;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.xml.Node;
import scala.xml.Unparsed;

/**
 * The page of the RDMA tab. Spark's UI asks for it in threads of its own; the method that it calls depends on its servlets and on its
 * Scala ({@link AnyServletPage}).
 */
final class RdmaPage extends WebUIPage implements AnyServletPage {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");
  private static final String FRAME = "headerSparkPage";

  /** Those that Spark gives no value by default. */
  private static final int PARAMETERS = 4;

  private final RdmaTab tab;
  private final KVStore store;

  RdmaPage(RdmaTab tab, KVStore store) {
    super("");
    this.tab = tab;
    this.store = store;
  }

  /** On Spark 4. */
  @Override
  public Seq<Node> render(jakarta.servlet.http.HttpServletRequest request) {
    return page(request, request::getParameter);
  }

  /** On Spark 3.5. */
  @Override
  public Seq<Node> render(javax.servlet.http.HttpServletRequest request) {
    return page(request, request::getParameter);
  }

  private Seq<Node> page(Object request, UnaryOperator<@Nullable String> parameters) {
    return framed(request, content(() -> {
      Html html = new Html();
      new StagesView(stages(), numberOf(parameters.apply("page"))).write(html);
      new ExecutorsView(all(ExecutorRecord.class), numberOf(parameters.apply("executors")))
          .write(html);
      return html.toString();
    }));
  }

  /** What fails is said on the page, which is all that fails. */
  private static String content(Supplier<String> html) {
    try {
      return html.get();
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("The RDMA page could not be made", e);
      return new Html()
          .raw("<p>")
          .text("This page could not be made: " + e)
          .raw("</p>")
          .toString();
    }
  }

  private static int numberOf(@Nullable String page) {
    try {
      return page == null ? 1 : Integer.parseInt(page);
    } catch (NumberFormatException e) {
      return 1;
    }
  }

  /** The newest first. */
  private List<StageRecord> stages() {
    List<StageRecord> stages = all(StageRecord.class);
    stages.removeIf(record -> new Ways(record::count).total() == 0);
    Collections.reverse(stages);
    return stages;
  }

  private <T> List<T> all(Class<T> type) {
    List<T> records = new ArrayList<>();
    try (KVStoreIterator<T> each = store.view(type).closeableIterator()) {
      each.forEachRemaining(records::add);
      return records;
    } catch (Exception e) {
      throw new IllegalStateException(
          "Spark's store of the application's status cannot be read", e);
    }
  }

  /** Spark's frame around the content. How many parameters it takes depends on the version. */
  private Seq<Node> framed(Object request, String html) {
    Seq<Node> content = List$.MODULE$.<Node>empty().$colon$colon(new Unparsed(html));
    UIUtils$ utils = UIUtils$.MODULE$;
    try {
      Method frame = Arrays.stream(UIUtils$.class.getMethods())
          .filter(method -> method.getName().equals(FRAME))
          .findFirst()
          .orElseThrow(() -> new NoSuchMethodException(FRAME));
      Object[] arguments = new Object[frame.getParameterCount()];
      Function0<Object> later = () -> content;
      System.arraycopy(new Object[] {request, "RDMA", later, tab}, 0, arguments, 0, PARAMETERS);
      for (int i = PARAMETERS; i < arguments.length; i++) {
        arguments[i] = UIUtils$.class.getMethod(FRAME + "$default$" + (i + 1)).invoke(utils);
      }
      return pageOf(frame.invoke(utils, arguments));
    } catch (InvocationTargetException e) {
      throw new IllegalStateException("Spark's UI has failed", e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this Spark has no " + FRAME + " as it is known", e);
    }
  }

  /** An element is a sequence of nodes, immutable with every Scala. Spark prints it by its {@code toString}. */
  @SuppressWarnings("unchecked")
  private static Seq<Node> pageOf(Object element) {
    return (Seq<Node>) element;
  }
}
