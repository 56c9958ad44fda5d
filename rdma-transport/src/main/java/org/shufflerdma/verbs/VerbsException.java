/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.io.IOException;

/** Reports a verb that failed: the call, its errno and the text of that. */
public class VerbsException extends IOException {
  private static final long serialVersionUID = 1L;

  private final String call;
  private final int errno;
  private final int posted;

  /** Called by the native code; {@code message} is complete. */
  VerbsException(String message, String call, int errno) {
    super(message);
    this.call = call;
    this.errno = errno;
    this.posted = 0;
  }

  private VerbsException(String message, String call, int errno, int posted) {
    super(message);
    this.call = call;
    this.errno = errno;
    this.posted = posted;
  }

  static VerbsException of(String call, int errno) {
    return of(call, errno, "");
  }

  /** Says what failed, and after that {@code remedy}. */
  public static VerbsException of(String call, int errno, String remedy) {
    return new VerbsException(describe(call, errno) + remedy, call, errno);
  }

  static VerbsException afterPosting(String call, int errno, int posted, int size) {
    return new VerbsException(
        describe(call, errno) + " after " + posted + " of " + size + " work requests",
        call,
        errno,
        posted);
  }

  private static String describe(String call, int errno) {
    return call + " failed: " + Natives.errorText(errno) + " (errno " + errno + ")";
  }

  /** Returns the C function that failed, for example {@code ibv_reg_mr}. */
  public String call() {
    return call;
  }

  /** Returns the errno value, see {@link Errno}; 0 if the failure has none. */
  public int errno() {
    return errno;
  }

  /** Returns how many work requests of the list were posted before the failing one. */
  public int posted() {
    return posted;
  }
}
