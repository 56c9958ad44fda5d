/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "provider.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#define OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL)

struct verbs_table verbs;

static int explain(char reason[PROVIDER_REASON_MAX])
{
	const char *text = dlerror();

	snprintf(reason, PROVIDER_REASON_MAX, "%s", text ? text : "unknown dynamic linker error");
	return -1;
}

/* A function pointer cannot be cast from void * in ISO C; POSIX promises this assignment. */
static bool assign(void *member, void *symbol)
{
	*(void **)member = symbol;
	return symbol != NULL;
}

static int bind_soft(struct verbs_table *table, const char *file, char reason[PROVIDER_REASON_MAX])
{
	void *library = dlopen(file, OPEN_FLAGS);

	if (!library)
		return explain(reason);

#define BIND_PREFIXED(function, version)                                            \
	if (!assign(&table->function, dlsym(library, "softverbs_" #function)))      \
		return explain(reason);
#define BIND_PLAIN(function)                                         \
	if (!assign(&table->function, dlsym(library, #function)))    \
		return explain(reason);

	IBVERBS_FUNCTIONS(BIND_PREFIXED)
	RDMACM_FUNCTIONS(BIND_PREFIXED)
	SOFTVERBS_FUNCTIONS(BIND_PLAIN)
	return 0;
}

static int bind_system(struct verbs_table *table, char reason[PROVIDER_REASON_MAX])
{
	void *ibverbs = dlopen("libibverbs.so.1", OPEN_FLAGS);
	void *rdmacm;

	if (!ibverbs)
		return explain(reason);
	rdmacm = dlopen("librdmacm.so.1", OPEN_FLAGS);
	if (!rdmacm)
		return explain(reason);

#define BIND_IBVERBS(function, version)                                         \
	if (!assign(&table->function, dlvsym(ibverbs, #function, version)))     \
		return explain(reason);
#define BIND_RDMACM(function, version)                                          \
	if (!assign(&table->function, dlvsym(rdmacm, #function, version)))      \
		return explain(reason);

	IBVERBS_FUNCTIONS(BIND_IBVERBS)
	RDMACM_FUNCTIONS(BIND_RDMACM)
	/* The software device can stand in for the system's libraries, and still has to be told of files. */
	assign(&table->softverbs_reg_file_mr, dlsym(ibverbs, "softverbs_reg_file_mr"));
	return 0;
}

int provider_bind(const char *soft_library, char reason[PROVIDER_REASON_MAX])
{
	struct verbs_table table = {0};
	int result = soft_library ? bind_soft(&table, soft_library, reason)
				  : bind_system(&table, reason);

	if (result == 0)
		verbs = table;
	return result;
}
