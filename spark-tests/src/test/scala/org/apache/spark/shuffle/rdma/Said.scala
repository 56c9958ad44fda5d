/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.collection.mutable

import org.apache.logging.log4j.LogManager
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property

/** The lines that the plugin logs in this process. */
final class Said {
  private val seen = mutable.Buffer.empty[String]

  def lines: Seq[String] = seen.synchronized(seen.toSeq)

  def during[T](action: => T): T = {
    val appender = new AbstractAppender("said", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit = seen.synchronized {
        seen += s"${event.getLevel} ${event.getMessage.getFormattedMessage}"
      }
    }
    appender.start()
    val logger = LogManager.getLogger("org.shufflerdma").asInstanceOf[Logger]
    logger.addAppender(appender)
    try action
    finally logger.removeAppender(appender)
  }
}
