/* SPDX-License-Identifier: Apache-2.0 */
/* What the symbols answer that the device does not implement, one function per kind of symbols.tbl. */
#include <errno.h>
#include <stddef.h>

void *facade_null_EOPNOTSUPP(void);
long facade_minus1_EOPNOTSUPP(void);
int facade_errno_EOPNOTSUPP(void);
long facade_noop(void);

void *facade_null_EOPNOTSUPP(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/* Of the width of ssize_t, which some of these functions return. */
long facade_minus1_EOPNOTSUPP(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

int facade_errno_EOPNOTSUPP(void)
{
	return EOPNOTSUPP;
}

long facade_noop(void)
{
	return 0;
}
