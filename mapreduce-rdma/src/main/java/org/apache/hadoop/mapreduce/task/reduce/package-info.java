/* SPDX-License-Identifier: Apache-2.0 */
/** The part of {@link org.shufflerdma.mapreduce} that needs classes which only Hadoop's package sees. */
package org.apache.hadoop.mapreduce.task.reduce;
