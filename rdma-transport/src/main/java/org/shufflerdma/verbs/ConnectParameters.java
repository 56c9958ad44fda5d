/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * The parameters that connect and accept send to the other end. The responder resources are the
 * READs that this side serves at a time, the initiator depth those that it starts at a time; both
 * are at most 255. Retry counts are 0 to 7; an RNR count of 7 never ends. A connect carries at most
 * 56 bytes of private data, an accept 196.
 */
@SuppressWarnings("ArrayRecordComponent") // these are never compared
public record ConnectParameters(
    byte[] privateData,
    int responderResources,
    int initiatorDepth,
    int retryCount,
    int rnrRetryCount) {
  public ConnectParameters {
    checkRange("private data length", privateData.length, 255);
    checkRange("responder resources", responderResources, 255);
    checkRange("initiator depth", initiatorDepth, 255);
    checkRange("retry count", retryCount, 7);
    checkRange("RNR retry count", rnrRetryCount, 7);
    privateData = privateData.clone();
  }

  @Override
  public byte[] privateData() {
    return privateData.clone();
  }

  private static void checkRange(String what, int value, int max) {
    if (value < 0 || value > max) {
      throw new IllegalArgumentException(what + " is " + value + ", allowed is 0 to " + max);
    }
  }
}
