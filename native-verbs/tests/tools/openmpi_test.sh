#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Open MPI over the device: messages of all sizes, collectives and one-sided operations, by UCX and by libfabric, all checked.
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/tools.sh"
need mpirun mpicc
need_dev

cat >"$work/mpi.c" <<'PROGRAM'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 20, ROUNDS = 20 };
static char out[LARGEST], in[LARGEST];

static void expect(int holds, const char *what)
{
	if (holds)
		return;
	printf("wrong: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	int rank, size, sum, next, before;
	long *window, one = 1, old, value;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	for (int length = 1; length <= LARGEST; length *= 4)
		for (int i = 0; i < ROUNDS; i++) {
			memset(out, rank + i, (size_t)length);
			MPI_Sendrecv(out, length, MPI_CHAR, next, i, in, length, MPI_CHAR, before, i, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
			memset(out, before + i, (size_t)length);
			expect(!memcmp(in, out, (size_t)length), "message");
		}
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	expect(sum == size * (size - 1) / 2, "sum");
	MPI_Win_allocate(16 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	memset(window, 0, 16 * sizeof(long));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
	}
	value = rank + 5;
	MPI_Put(&value, 1, MPI_LONG, next, 3, 1, MPI_LONG, win);
	MPI_Win_flush_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(win);
	expect(rank || window[0] == (long)ROUNDS * size, "atomics");
	expect(window[3] == before + 5, "put");
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	if (!rank)
		printf("all well\n");
	MPI_Finalize();
	return 0;
}
PROGRAM
mpicc -O1 -o "$work/mpi" "$work/mpi.c" || fail "mpicc"

run_ranks() {
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 2 60 mpirun --oversubscribe -np 3 "$@" \
    "$softverbs" --dev "$work/mpi" >"$work/client.log" 2>&1 || fail "mpirun $*"
  grep -q 'all well' "$work/client.log" || fail "no end"
  [ "$(counter sends)" -gt 0 ] || fail "no SEND was counted"
}

try "UCX" run_ranks --mca pml ucx --mca osc ucx --mca pml_ucx_tls any --mca pml_ucx_devices any -x UCX_TLS=rc_verbs,ud_verbs,self \
  -x UCX_NET_DEVICES=softv0:1
try "libfabric" run_ranks --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm'
verdict
