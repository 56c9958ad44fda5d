/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A job of MapReduce or Tez: an application of YARN and its user, since a user may have a folder with the name of another user's
 * application. Its text is {@code user/application}, which no application of Spark has.
 */
record JobName(String user, String application) {
  private static final Pattern TEXT = Pattern.compile(
      "(?<user>[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}[$]?)/(?<application>application_[0-9]{1,19}_[0-9]{1,10})");

  /** Null if the text names no job. Its parts can be names of folders. */
  static @Nullable JobName parse(String text) {
    Matcher matcher = TEXT.matcher(text);
    return matcher.matches()
        ? new JobName(matcher.group("user"), matcher.group("application"))
        : null;
  }

  @Override
  public String toString() {
    return user + "/" + application;
  }
}
