/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the device. Every variable SOFTVERBS_* of the environment is judged here, except those of faults (fault/). */
#ifndef SOFTDEV_SETTINGS_H
#define SOFTDEV_SETTINGS_H

/* Judges the environment once. Returns 0, or EINVAL after an error message for every variable whose value cannot be used. */
int settings_check(void);

enum path_mode { PATH_AUTO, PATH_FILE, PATH_CMA, PATH_WIRE, PATH_TCP };

/* SOFTVERBS_PATH. */
enum path_mode path_mode(void);

/* Stores the limits of SOFTVERBS_PORT_RANGE, or zeros if it is not set. 0 or EINVAL. */
int settings_port_range(int *low, int *high);

#endif
