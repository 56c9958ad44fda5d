/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of softdev/facade/symbols.tbl is exported under its version by the two libraries for unmodified
 * programs, and what the device does not implement answers as the row says.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "test.h"

enum kind { KIND_ENGINE, KIND_NULL, KIND_MINUS1, KIND_ERRNO, KIND_NOOP, KIND_DATA };

struct row {
	const char *symbol, *version;
	enum kind kind;
	int error;
};

static const struct row rows[] = {
#include "symbols.inc"
};

static void check_answer(const struct row *row, void *symbol)
{
	uintptr_t answer;
	int error;

	errno = 0;
	answer = ((uintptr_t(*)(void))symbol)();
	error = errno;
	printf("%s@%s: %d, errno %d\n", row->symbol, row->version, (int)answer, error);
	switch (row->kind) {
	case KIND_NULL:
		CHECK_EQUAL(answer, 0);
		CHECK_EQUAL(error, row->error);
		break;
	case KIND_MINUS1:
		CHECK_EQUAL((ssize_t)answer, -1);
		CHECK_EQUAL(error, row->error);
		break;
	case KIND_ERRNO:
		CHECK_EQUAL((int)answer, row->error);
		break;
	default:
		CHECK_EQUAL(answer, 0);
		CHECK_EQUAL(error, 0);
	}
}

int main(void)
{
	void *verbs = dlopen(FACADE_DIR "/libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	void *cm = dlopen(FACADE_DIR "/librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!verbs || !cm)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(verbs && cm);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *library = strncmp(rows[i].version, "RDMACM", 6) ? verbs : cm;
		void *symbol = dlvsym(library, rows[i].symbol, rows[i].version);

		printf("%s@%s\n", rows[i].symbol, rows[i].version);
		CHECK(symbol);
		if (rows[i].kind != KIND_ENGINE && rows[i].kind != KIND_DATA)
			check_answer(&rows[i], symbol);
	}
}
