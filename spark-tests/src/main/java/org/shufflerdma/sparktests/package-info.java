/* SPDX-License-Identifier: Apache-2.0 */
/** The program that bin/versions submits to each Spark: compiled once, of API that all of them have. */
package org.shufflerdma.sparktests;
