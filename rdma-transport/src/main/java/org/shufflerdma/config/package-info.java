/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The settings, each declared once. The core names them without a prefix; its user says what the
 * keys begin with.
 */
@NullMarked
package org.shufflerdma.config;

import org.jspecify.annotations.NullMarked;
