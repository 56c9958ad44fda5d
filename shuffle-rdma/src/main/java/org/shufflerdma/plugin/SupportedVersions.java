/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Knows which versions of Spark this jar supports: 3.5.0 or later, and before 4.3. */
final class SupportedVersions {
  private static final Pattern MAJOR_MINOR = Pattern.compile("(\\d{1,4})\\.(\\d{1,4})\\..*");

  private SupportedVersions() {}

  /** Returns why RDMA cannot be used on this version, or null if it can. */
  static @Nullable String reasonAgainstRdma(String sparkVersion) {
    Matcher matcher = MAJOR_MINOR.matcher(sparkVersion);
    if (matcher.matches()) {
      int major = Integer.parseInt(matcher.group(1));
      int minor = Integer.parseInt(matcher.group(2));
      if ((major == 3 && minor >= 5) || (major == 4 && minor < 3)) {
        return null;
      }
    }
    return "shuffle-rdma supports Spark 3.5, 4.0, 4.1 and 4.2, and this is Spark " + sparkVersion
        + "; use one of those, or remove spark.shuffle.manager, or the entry in spark.plugins";
  }
}
