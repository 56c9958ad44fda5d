/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

/** What a list of READs reads of the peer, and so what its success shows. */
enum ReadsOf {
  /** Records in the peer's own memory, such as descriptors: it shows nothing of data. */
  RECORDS,
  /** Memory in which the peer has staged data: it shows that data comes, but not from its files. */
  STAGED,
  /** The peer's registered files. */
  FILES
}
