/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.appender.AppenderLoggingException;
import org.apache.logging.log4j.core.config.Property;

/** Makes the messages of a class that have some level throw until it is restored. */
public final class FailingLog {
  private final Level failing;
  private final Logger log;
  private final AbstractAppender appender =
      new AbstractAppender("failing", null, null, false, Property.EMPTY_ARRAY) {
        @Override
        public void append(LogEvent event) {
          if (event.getLevel().equals(failing)) {
            throw new AppenderLoggingException("of a test");
          }
        }
      };

  private final Level level;

  public FailingLog(Class<?> of, Level failing) {
    this.failing = failing;
    log = (Logger) LogManager.getLogger(of);
    level = log.getLevel();
    appender.start();
    log.addAppender(appender);
    log.setLevel(failing);
  }

  public void restore() {
    log.setLevel(level);
    log.removeAppender(appender);
  }
}
