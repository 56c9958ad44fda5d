/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import javax.servlet.http.HttpServletRequest;
import scala.collection.Seq;
import scala.xml.Node;

/**
 * What Spark's {@code WebUIPage} asks of a page on Spark 3.5, where servlets are those of {@code javax}. For a method that returns an
 * immutable sequence javac makes one that returns this as well: the first is called on Scala 2.13, the other on 2.12.
 */
interface AnyServletPage {
  Seq<Node> render(HttpServletRequest request);
}
