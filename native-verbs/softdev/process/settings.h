/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the device: every SOFTVERBS_ variable but SOFTVERBS_FAULT is judged in one place. */
#ifndef SOFTDEV_SETTINGS_H
#define SOFTDEV_SETTINGS_H

/* 0, or EINVAL after an error message for every variable whose value cannot be used. Judges once. */
int settings_check(void);

enum path_mode { PATH_AUTO, PATH_FILE, PATH_CMA, PATH_WIRE, PATH_TCP };

/* SOFTVERBS_PATH. */
enum path_mode path_mode(void);

/* SOFTVERBS_PORT_RANGE; 0..0 when it is not set. 0 or EINVAL. */
int settings_port_range(int *low, int *high);

#endif
